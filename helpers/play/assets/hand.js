import { short } from "./lanes_of_play.js";

// The hand of the player: keys, mouse and touch.

export function pressKey(game, event) {
  if (!game.view || event.altKey) return;
  const { key, target } = event, small = key.toLowerCase();
  const row = () => game.view.rows[game.cursor.rank]; // when its turn comes
  if (target.closest("select, input, summary") || (target.closest("button") && [" ", "Enter"].includes(key))) {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); // or a notebook takes it
    return;
  }
  const command = event.ctrlKey || event.metaKey;
  if (command && !["z", "y"].includes(small)) return;
  const moves = {
    ArrowUp: () => stepTo(game, -1, 0), ArrowDown: () => stepTo(game, 1, 0), ArrowLeft: () => stepTo(game, 0, -1),
    ArrowRight: () => stepTo(game, 0, 1), Home: () => stepTo(game, 0, -999), End: () => stepTo(game, 0, 999),
    Delete: () => game.remove(event.shiftKey), Backspace: () => game.remove(event.shiftKey),
    ",": () => game.shift(-1), ".": () => game.shift(1), z: () => game.go(event.shiftKey ? 1 : -1), y: () => game.go(1),
    c: () => game.assist("coach"), p: () => game.assist("on"), "?": () => game.turnKeys(),
    Escape: () => stepTo(game, 0, 999),
    Enter: () => placeHere(game, row().next.find((one) => one.start !== null) ?? row().next[0]),
  };
  let act = moves[key] ?? moves[small];
  if (/^[fbiw]$/.test(small) && !command) {
    const kind = small.toUpperCase();
    act = () => {
      const mine = row().next.filter((one) => one.kind === kind);
      const next = mine.find((one) => one.start !== null) ?? mine[0] ?? { name: `${row().stages[0]}${kind}0` };
      return placeHere(game, next);
    };
  }
  if (/^[1-9]$/.test(key)) act = () => placeHere(game, row().next[Number(key) - 1]);
  event.stopPropagation();
  if (!act) return;
  event.preventDefault();
  game.turn = game.turn.then(act).catch(() => false); // fast fingers: one after the other
}

export function placeHere(game, one) {
  if (!one) return undefined;
  const { actions } = game.view.rows[game.cursor.rank];
  return game.place(one.name, game.cursor.at < actions.length ? game.cursor.at : undefined);
}

export function stepTo(game, down, right) {
  const ranks = game.view.rows.length, { cursor } = game;
  cursor.rank = (cursor.rank + down + ranks) % ranks;
  const count = game.view.rows[cursor.rank].actions.length;
  cursor.at = down ? count : Math.max(0, Math.min(count, cursor.at + right));
  game.drawCursor();
  const one = game.selected();
  game.follow(one ? one.micro : null);
  const what = one ? `${one.name}, ${short(one.start)} s to ${short(one.end)} s` : "its end";
  game.heard.textContent = `rank ${cursor.rank}: ${what}`;
  const here = game.rows.querySelector(".play-box.play-here, .play-cursor");
  here?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** A press selects; a drag along the lane moves, a drag out of it takes back. */
export function grab(game, event) {
  const held = event.target.closest(".play-box, .play-chip");
  if (!held || event.button) return;
  game.board.focus({ preventScroll: true });
  const { name } = held.dataset, chip = held.classList.contains("play-chip"), box = game.boxOf(name);
  const touch = event.pointerType === "touch", was = held.classList.contains("play-here");
  if (box) {
    game.cursor = { rank: box.rank, at: box.at };
    game.drawCursor();
    game.say(`${name}: ${short(box.start)} s to ${short(box.end)} s.`);
  }
  if (touch && !chip && !was) return; // the first tap selects, so that a swipe still scrolls
  const [x0, y0] = [event.clientX, event.clientY];
  let target = null, dragged = false;
  const move = (next) => {
    if (!dragged && Math.hypot(next.clientX - x0, next.clientY - y0) < 6) return;
    dragged = true;
    held.style.transform = `translate(${next.clientX - x0}px, ${next.clientY - y0}px)`;
    held.classList.add("play-dragged");
    target = targetOf(game, next, name, box?.rank ?? rankOf(game, name));
  };
  const up = (last) => {
    for (const [kind, heard] of [["pointermove", move], ["pointerup", up], ["pointercancel", up]]) {
      removeEventListener(kind, heard);
    }
    held.style.transform = "";
    held.classList.remove("play-dragged");
    if (!dragged || last.type === "pointercancel") return;
    const swallow = (click) => click.stopPropagation(); // the click that follows a drag
    addEventListener("click", swallow, true);
    setTimeout(() => removeEventListener("click", swallow, true));
    if (chip && target !== null) game.place(name, target);
    else if (!chip && target === null) game.takeBack(name);
    else if (!chip) game.moveTo(name, target);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
  addEventListener("pointercancel", up);
}

export function rankOf(game, name) {
  return game.view.rows.findIndex((row) => row.next.some((one) => one.name === name));
}

/** The position in a rank's order under the pointer; null outside of its lane. */
export function targetOf(game, event, name, rank) {
  const lane = game.rows.querySelector(`.play-lane[data-rank="${rank}"]`).getBoundingClientRect();
  if (event.clientY < lane.top - 30 || event.clientY > lane.bottom + 30 || event.clientX < lane.left - 8) return null;
  const time = (event.clientX - lane.left) / game.scale;
  const others = game.view.rows[rank].actions.filter((one) => one.name !== name);
  return others.filter((one) => (one.start + one.end) / 2 < time).length;
}
