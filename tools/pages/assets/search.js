// Looks through all lessons, in the browser.

const said = document.querySelector("main [role=status]"), list = document.querySelector(".found");
const field = document.querySelector("[type=search]");
const wanted = new URLSearchParams(location.search).get("q")?.trim() ?? "";
field.value = wanted;

// Names of collectives that some write as one word become the words that others write.
const apart = (text) => text.replace(/\balltoall/gi, "all to all").replace(/\b(all|reduce)(?=reduce|gather|scatter)/gi, "$1 ");

async function look() {
  const [{ default: MiniSearch }, parts] = await Promise.all([
    import("./minisearch.js"), fetch("search.json").then((found) => found.json()),
  ]);
  const index = new MiniSearch({ fields: ["title", "lesson", "text"], storeFields: ["title", "lesson", "text", "where"],
    tokenize: (text) => MiniSearch.getDefault("tokenize")(apart(text)) });
  index.addAll(parts);
  const found = index.search(wanted, { boost: { title: 4, lesson: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" }).slice(0, 30);
  said.textContent = found.length ? `${found.length === 30 ? "The first 30" : found.length} places for “${wanted}”.`
    : `Nothing was found for “${wanted}”.`;
  list.replaceChildren(...found.map(shown));
}

function shown({ title, lesson, text, where, terms }) {
  const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("span");
  link.href = where;
  link.textContent = title;
  const at = Math.max(0, text.toLowerCase().indexOf(terms[0]) - 70);
  words.textContent = `${lesson}: ${at ? "…" : ""}${text.slice(at, at + 220)}…`;
  item.append(link, words);
  return item;
}

if (!wanted) field.focus();
if (wanted) look().catch(() => { said.textContent = "The search could not be loaded."; });
