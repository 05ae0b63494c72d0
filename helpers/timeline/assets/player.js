import { icon } from "./dom.js";
import { SPEEDS } from "./page.js";
import { timeText } from "./words.js";

// The play head: a time that moves. `view.head` is where it is; null: there is none.

const WHOLE = 8; // seconds in which the whole time is played at speed 1

export class Player {
  constructor(view) {
    this.view = view;
    this.speed = 1;
    this.frame = 0;
  }

  /** Play from the play head, or from what is in sight; or stop. */
  toggle() {
    const { view } = this;
    if (this.frame) return this.stop();
    if (!view.model.duration) return;
    if (view.head === null || view.head >= view.model.duration) view.head = view.axis().from;
    view.playButton.replaceChildren(icon("pause"));
    let before = performance.now();
    const tick = (now) => {
      this.move(Math.max(0, now - before) / 1000);
      before = now;
      if (view.head < view.model.duration) this.frame = requestAnimationFrame(tick);
      else this.stop();
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** Move the play head by what so many seconds of the clock are worth; keep it in sight. */
  move(seconds) {
    const { view } = this, { duration } = view.model, { from, to } = view.axis();
    view.head = Math.min(view.head + seconds * this.speed * duration / WHOLE, duration);
    if (view.head > to || view.head < from) view.moveTo(view.head - 0.05 * (to - from));
    view.redrawMarks();
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.view.playButton.replaceChildren(icon("play"));
  }

  setSpeed(speed) {
    this.speed = speed;
    this.view.speedList.value = String(speed);
    const { duration, unit } = this.view.model;
    this.view.speedList.title = `${timeText(duration, unit)} are played in ${WHOLE / speed} s`;
  }

  faster(by) {
    const place = SPEEDS.indexOf(this.speed) + by;
    if (place >= 0 && place < SPEEDS.length) this.setSpeed(SPEEDS[place]);
  }
}
