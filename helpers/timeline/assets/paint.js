// Small tools for a canvas: sharp at any resolution, text that fits, textures.

const TILE = 6;
const LARGEST = 16000; // pixels: a larger canvas stays empty in most browsers

/** Size a canvas in CSS pixels for a sharp picture; gives its context. */
export function sharp(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, LARGEST / Math.max(width, height, 1));
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Tools that remember what they have worked out: widths of texts, textures. */
export function brushes(fonts) {
  const widths = new Map(), tiles = new Map();
  const scratch = document.createElement("canvas").getContext("2d");
  const font = (size, bold) => `${bold ? "600 " : ""}${size}px ${fonts}`;
  return {
    font,
    width(text, size, bold = false) {
      const key = `${size}${bold}${text}`;
      let width = widths.get(key);
      if (width === undefined) {
        scratch.font = font(size, bold);
        width = scratch.measureText(text).width;
        if (widths.size > 20000) widths.clear();
        widths.set(key, width);
      }
      return width;
    },
    text(context, x, y, text, size, color, align = "left", bold = false) {
      context.font = font(size, bold);
      context.fillStyle = color;
      context.textAlign = align;
      context.textBaseline = "alphabetic";
      context.fillText(text, x, y + 0.36 * size);
    },
    /** A pattern of lines or dots in a color, for `fillStyle`. */
    texture(context, kind, color) {
      const key = kind + color;
      if (!tiles.has(key)) tiles.set(key, context.createPattern(tile(kind, color), "repeat"));
      return tiles.get(key);
    },
  };
}

const STROKES = {
  rising: [[-1, 1, 1, -1], [0, TILE, TILE, 0], [TILE - 1, TILE + 1, TILE + 1, TILE - 1]],
  falling: [[-1, TILE - 1, 1, TILE + 1], [0, 0, TILE, TILE], [TILE - 1, -1, TILE + 1, 1]],
  level: [[0, 1.5, TILE, 1.5], [0, 4.5, TILE, 4.5]],
  upright: [[1.5, 0, 1.5, TILE], [4.5, 0, 4.5, TILE]],
  crossed: [[0, 0, TILE, TILE], [0, TILE, TILE, 0]],
};

function tile(kind, color) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = TILE;
  const context = canvas.getContext("2d");
  context.strokeStyle = context.fillStyle = color;
  if (kind === "dots") {
    context.fillRect(1, 1, 1.6, 1.6);
    context.fillRect(4, 4, 1.6, 1.6);
    return canvas;
  }
  context.beginPath();
  for (const [x0, y0, x1, y1] of STROKES[kind] ?? []) {
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
  return canvas;
}

/** An arrow with a filled head whose tip is at the end. */
export function arrow(context, x0, y0, x1, y1, head = 6) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (!length) return;
  const ux = (x1 - x0) / length, uy = (y1 - y0) / length, size = Math.min(head, length);
  const bx = x1 - size * ux, by = y1 - size * uy, side = 0.42 * size;
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(bx, by);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(bx - side * uy, by + side * ux);
  context.lineTo(bx + side * uy, by - side * ux);
  context.fill();
}
