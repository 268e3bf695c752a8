// A sentence of the server's, in which what is typed stands between backticks.

import { html } from "./svg.js";

export function tell(place, sentence) {
  if (place.textContent === sentence.replaceAll("`", "")) return; // it stands there already
  place.replaceChildren(...sentence.split("`").map((part, i) => (i % 2 ? html("code", {}, part) : part)));
}
