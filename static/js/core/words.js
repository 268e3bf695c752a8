// Words and numbers, as pages write them.

import { become, sketch } from "./become.js";

/** Write a text where it is not there yet. */
export function say(place, text) {
  if (!place || place.textContent === text) return;
  if (place.firstChild?.nodeType === Node.TEXT_NODE && !place.firstChild.nextSibling) place.firstChild.data = text; // no new node
  else place.textContent = text;
}

/** Write a sentence of the server's, in which what is typed stands between backticks. */
export const tell = (place, sentence) =>
  become(place, ...sentence.split("`").map((part, i) => (i % 2 ? sketch("code", {}, part) : part)));

export const percent = (share) => `${Math.round(100 * share)} %`;

export const times = (ratio) => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}×` : "–");

/** An interval, or what stands in its place where there is none. */
export const within = ({ low, high }, none = "too few prompts") => ((low ?? null) === null ? none : `${low.toFixed(2)} to ${high.toFixed(2)}`);

/** A duration with as many digits as anybody can use, as decoding/words.py writes it: 1.23 ms, 45.6 ms, 789 ms, 7,890 ms. */
export const ms = (ns) => `${ns < 1e8 ? (ns / 1e6).toFixed(ns < 1e7 ? 2 : 1) : grouped(Math.round(ns / 1e6))} ms`;

/** How long a text took: whole milliseconds, and seconds from ten on. */
export const brief = (ns) => (ns < 1e10 ? `${grouped(Math.round(ns / 1e6))} ms` : `${(ns / 1e9).toFixed(1)} s`);

/** A length of time, as long as one waits. */
export function span(seconds) {
  if (seconds < 90) return `${seconds} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** A number with commas between thousands. */
export const grouped = (number) => String(number).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

/** A count of things, such as `1 round` and `3 rounds`. */
export const counted = (count, thing) => `${grouped(count)} ${thing}${count === 1 ? "" : "s"}`;
