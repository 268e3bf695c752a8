// A question mark that opens a sentence about a word, in a heading that a script makes; templates/docs/_term.html is the same.

import { sketch } from "./become.js";

const terms = JSON.parse(document.getElementById("terms")?.textContent ?? "{}"); // name of a chart → the word that it explains

/** What stands behind the heading of a chart that explains a word. */
export function explained(name) {
  const term = terms[name], id = `term-of-${name}`;
  return term ? [sketch("button", { type: "button", class: "term", popovertarget: id, "aria-label": `What is ${term.name}?` }, "?"),
    sketch("span", { id, popover: "", role: "note", class: "meaning" }, term.sentence, term.address ? sketch("a", { href: term.address }, " More") : null)] : [];
}
