// Two strategies' texts, one under the other, letter over letter: the same words, cut into other rounds.

import { become, sketch } from "../core/become.js";

const BREAK = "⏎"; // a line break has a fate like any token, so it is shown
const WIDTH = 96; // letters in a line, at most; fewer where the page is narrow

/**
 * The text cut into lines, the same for whoever wrote it: at its line breaks, and where a line is full. A token may be
 * cut in two; its mark stands at its first piece, and a round begins at its first token.
 * @returns {{text: string, fate: string, round: number, begins: boolean}[][]}
 */
export function lines(state, word, width = WIDTH) {
  const found = [[]];
  let room = width, last = null;
  for (const token of state.tokens) {
    let begins = token.round !== last, fate = token.fate;
    last = token.round;
    const put = (text) => {
      found.at(-1).push({ text, fate, round: token.round, begins });
      begins = false;
      fate = fate === "accepted" ? fate : "rest";
    };
    const next = () => {
      found.push([]);
      room = width;
    };
    for (const [i, part] of word(token.id).split("\n").entries()) {
      if (i) {
        put(BREAK);
        next();
      }
      for (let rest = part; rest; ) {
        if (!room) next();
        const text = rest.slice(0, room);
        put(text);
        rest = rest.slice(text.length);
        room -= text.length;
      }
    }
  }
  return found;
}

/** What the two have in common and what not, in a sentence. */
function compared(one, other, states) {
  const [mine, theirs] = states.map((state) => state.tokens.map((token) => token.id));
  const length = Math.min(mine.length, theirs.length);
  let same = 0;
  while (same < length && mine[same] === theirs[same]) same++;
  const rounds = [one, other].map((name, i) => `${name} took ${partsIn(states[i])} for ${states[i].tokens.length} tokens`);
  if ([...mine, ...theirs].some((id) => typeof id === "string")) return `${rounds.join(", ")}.`; // text alone: the audit compares it
  return `${rounds.join(", ")}. ` + (same === length ? "The words are the same." : `The words differ from token ${same + 1} on.`);
}

const partsIn = ({ rounds, deliveries }) => (deliveries.length ? `${deliveries.length} deliveries` : `${rounds.length} rounds`);

/** Draw a pair of runs with their states into a place, or nothing beside. */
export function drawSide(place, word, pair) {
  place.hidden = !pair;
  if (!pair) return become(place);
  const letters = Math.min(WIDTH, Math.max(24, Math.floor(place.parentElement.clientWidth / 9.1)));
  const [above, below] = pair.map(({ state }) => lines(state, word, letters));
  const rows = Array.from({ length: Math.max(above.length, below.length) }, (_, i) => sketch("div", { class: "pair" },
    row(above[i], pair[0].run, false), row(below[i], pair[1].run, true)));
  become(place, sketch("p", { class: "quiet" }, compared(pair[0].run.name, pair[1].run.name, pair.map(({ state }) => state))), ...rows);
}

/** The lower line repeats the words, so it is for the eye alone. */
const row = (pieces = [], run, isBelow) => sketch("div", { class: `line s-${run.strategy}`, "aria-hidden": isBelow ? "true" : null },
  ...pieces.map((piece) => sketch("span", { class: `token ${piece.fate}${piece.begins ? " begins" : ""}`, title: `${run.name}, round ${piece.round}` }, piece.text)),
  pieces.length ? null : "\u00a0");
