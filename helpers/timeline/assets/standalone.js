// In a saved page: the data stands in the page, and there is no Python to ask.

async function start() {
  const { head, look, body } = JSON.parse(document.getElementById("data").textContent);
  const packed = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  new TimelineView(document.getElementById("timeline"), look, readModel(head, bytes));
}

start();
