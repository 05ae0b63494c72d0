// Files: a notebook's come from Python, where the static pictures are drawn.

export const NAMES = { svg: "SVG", png: "PNG", html: "HTML", json: "trace" };
const TYPES = {
  svg: "image/svg+xml", png: "image/png", html: "text/html", json: "application/json",
};

/** Hand bytes to the browser as a file to keep. */
export function download(kind, data, name = "timeline") {
  const address = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type: TYPES[kind] }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.${kind}`;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Several canvases below each other, as one PNG: what is on the screen now. */
export function pngOf(canvases, background) {
  const whole = document.createElement("canvas"), context = whole.getContext("2d");
  whole.width = Math.max(...canvases.map((one) => one.width));
  whole.height = canvases.reduce((height, one) => height + one.height, 0);
  context.fillStyle = background;
  context.fillRect(0, 0, whole.width, whole.height);
  let y = 0;
  for (const one of canvases) {
    context.drawImage(one, 0, y);
    y += one.height;
  }
  return new Promise((done) => whole.toBlob(done, "image/png"));
}
