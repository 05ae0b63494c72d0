import { element } from "./dom.js";
import { sharp } from "./paint.js";

// The line that says which letter, color and texture is which.

/** The same for two models whose legends are the same. */
export function legendKey(model) {
  return model.parts.flatMap((part) =>
    [part.chunks > 1, "pair" in part.facts, part.waits, part.finishes,
      ...part.kinds.filter((_, n) => part.occurs[n]).map((look) => look.kind)]).join();
}

/** A swatch and a word for each kind that occurs, in a fixed order. */
export function legendOf(model, theme, brush) {
  const kinds = new Map(model.parts.flatMap((part) =>
    part.kinds.filter((_, number) => part.occurs[number]).map((look) => [look.kind, look])));
  const all = [...kinds.values()];
  const known = ["F", "B", "I", "W", "update", "input"].flatMap((kind) => kinds.get(kind) ?? []);
  const message = kinds.get("send") ?? kinds.get("recv");
  const together = all.filter((look) => look.collective);
  const others = all.filter((look) => !look.known);
  const entries = known.map((look) => [look, look.letter, look.word]);
  if (message) entries.push([message, "", "message"]);
  if (together.length) entries.push([together[0], "", together.map((look) => look.kind).join(", ")]);
  const wait = kinds.get("wait");
  if (model.parts.some((part) => part.waits)) entries.push([wait, "", "waiting"]);
  if (model.parts.some((part) => part.finishes))
    entries.push([{ ...wait, texture: "", flat: true }, "", "finished"]);
  if (others.length) {
    const more = others.length > 3 ? ` and ${others.length - 3} more` : "";
    entries.push([others[0], "", others.slice(0, 3).map((look) => look.kind).join(", ") + more]);
  }
  const shown = entries.map(([look, letter, word]) =>
    element("span", {}, swatch(look, letter, theme, brush), word));
  const chunks = Math.max(...model.parts.map((part) => part.chunks));
  if (chunks > 1) shown.push(element("span", {}, "pale: a later stage of the rank"));
  if (model.parts.some((part) => "pair" in part.facts))
    shown.push(element("span", {}, "framed: a pair, one action"));
  return shown;
}

/** A small box of a kind: with its letter, and with the texture that may take its place. */
function swatch(look, letter, theme, brush) {
  const canvas = element("canvas", { "aria-hidden": "true" }), wide = look.texture && letter ? 32 : 18;
  const context = sharp(canvas, wide, 14), wait = look.kind === "wait";
  context.fillStyle = wait ? theme.band : look.color;
  context.fillRect(0, 0, wide, 14);
  if (look.flat) {
    context.fillStyle = theme.wait;
    context.fillRect(0, 6.25, wide, 1.5);
  }
  if (look.texture) {
    context.globalAlpha = wait ? 1 : 0.5;
    context.fillStyle = brush.texture(context, look.texture, wait ? theme.wait : look.ink);
    context.fillRect(letter ? 17 : 0, 0, letter ? 15 : wide, 14);
    context.globalAlpha = 1;
  }
  if (letter) brush.text(context, 9, 7, letter, 10, look.ink, "center", true);
  return canvas;
}
