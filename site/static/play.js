// The game on the site: the level that the address names, and what this browser has won.

import { mount } from "./game.js";
import { keep, kept } from "./kept.js";

const state = await (await fetch(new URL("./levels.json", import.meta.url))).json();
const best = kept("lab-play"), asked = new URLSearchParams(location.hash.slice(1)).get("level");
const named = state.levels.find(({ id }) => id === asked);
const level = (named ?? state.levels.find(({ id }) => !(id in best)) ?? state.levels[0]).id;
mount(document.getElementById("play"), { ...state, level, best }, (now) => keep("lab-play", now.best));
