// Round by round: how far the draft looked ahead, how much it drafted, how much of that was kept, and how far it ought
// to have looked: the oracle's lookahead.

import { become, sketch } from "../core/become.js";
import { layField, shownOf } from "../core/field.js";
import { key, size, widthOf } from "../core/picture.js";
import { ticks } from "../core/stats.js";
import { table as made } from "../core/tables.js";
import { counted, ms } from "../core/words.js";

export const on = { text: 1 };
export const term = "round";
export const title = "Round by round";

export function sentence({ run, all: { rounds } }) {
  if (!rounds.length) return "";
  const drafted = rounds.reduce((sum, round) => sum + round.drafted.length, 0);
  const kept = rounds.reduce((sum, round) => sum + round.accepted, 0);
  if (!drafted) return `${run.name}, ${counted(rounds.length, "round")} without a draft.`;
  return `${run.name}, ${counted(rounds.length, "round")}: ${counted(drafted, "token")} drafted, ${kept} of them kept.`;
}

export const table = ({ state, oracle }) =>
  made(["round", "asked for", "drafted", "kept", "oracle", "drafting", "verifying", "waiting"], state.rounds.map((round) => [
    round.number, round.lookahead, round.drafted.length, round.accepted,
    `${oracle(round).isLeast ? "≥ " : ""}${oracle(round).lookahead}`,
    ...[round.draftEnd - round.draftStart, round.verifyEnd - round.verifyStart, round.wait].map(ms),
  ]));

export const legend = () => [key("asked", "asked for"), key("drafted", "drafted"), key("kept", "kept"),
  key("bound", "oracle: as many as the target would have accepted")];

const HEIGHT = 120, LEFT = 24, BOTTOM = 20, TOP = 8;
const FEWEST = 24; // columns there is room for
const KINDS = { drafted: "drafted", kept: "kept", asked: "asked", oracle: "oracle", least: "oracle least", bonus: "bonus" };
const callbacks = new WeakMap(); // picture → who is told which round is pointed at

/** One shape for all rounds of a kind. `all` is what is known of the sample, so that a replay does not rescale under way. */
export function draw(picture, { state, all, oracle, chosen, onRound }) {
  if (!callbacks.has(picture)) listen(picture);
  callbacks.set(picture, onRound);
  const width = widthOf(picture), bounds = all.rounds.map(oracle);
  const most = Math.max(3, ...all.rounds.map((round, i) => Math.max(round.lookahead, round.accepted + 1, bounds[i].lookahead)));
  const whole = { low: 0, high: roomFor(all) }, axis = shownOf(picture, whole), step = (width - LEFT) / (axis.high - axis.low);
  const x = (place) => LEFT + (place - axis.low) * step, isShown = (i) => i >= Math.floor(axis.low) && i < axis.high;
  const y = (count) => HEIGHT - BOTTOM - (count / most) * (HEIGHT - BOTTOM - TOP);
  const shown = state.rounds.map((round, i) => ({ round, i })).filter(({ i }) => isShown(i));
  const shapes = shown.map(({ round, i }) => column(round, x(i), step, y, bounds[i]));
  size(picture, width, HEIGHT);
  become(picture,
    sketch("g", {}, ...grid(most, y, width)),
    sketch("g", { class: "columns" }, ...shown.map(({ round: { number }, i }) => sketch("rect",
      { class: number === chosen ? "open" : null, "data-round": number, x: x(i), y: 0, width: step, height: HEIGHT }))),
    ...Object.entries(KINDS).map(([name, kind]) => sketch("path", { class: kind, d: shapes.map((shape) => shape[name]).join("") })),
    layField(picture, { axis, whole, scale: { x, y, left: LEFT, right: width, top: TOP, bottom: HEIGHT - BOTTOM },
      head: (place) => `round ${Math.floor(place) + 1}`, series: [{ name: "", points: state.rounds.map((round, i) => pointOf(round, i, onRound)) }] }));
}

const pointOf = (round, i, onRound) => ({ x: i + 0.5, y: round.accepted, open: () => onRound(round.number),
  text: round.drafted.length ? `${round.accepted} of ${round.drafted.length} kept, asked for ${round.lookahead}` : "no draft" });

function listen(picture) {
  picture.addEventListener("pointerover", (event) => {
    const found = event.target.closest?.("[data-round]");
    if (found) callbacks.get(picture)(Number(found.dataset.round));
  });
}

/** Under way there is room for rounds to come, so that not each of them moves all columns. */
function roomFor({ rounds, reason }) {
  const least = Math.max(rounds.length, FEWEST);
  if (reason !== null) return least;
  const power = 2 ** Math.ceil(Math.log2(least));
  return least <= power * 0.75 ? power * 0.75 : power;
}

function grid(most, y, width) {
  return ticks(most, 3).filter(Number.isInteger).flatMap((count) => [
    sketch("path", { class: "rule", d: `M${LEFT},${y(count)}H${width}` }),
    sketch("text", { x: LEFT - 6, y: y(count) + 4, "text-anchor": "end" }, String(count)),
  ]);
}

/** Of one round, what it adds to each shape. */
function column(round, x, step, y, oracle) {
  const w = Math.max(1, step - Math.min(2, step / 4));
  const bar = (count) => (count ? `M${x},${y(0)}V${y(count)}h${w}V${y(0)}Z` : "");
  const level = (count) => (count ? `M${x},${y(count)}h${w}` : "");
  const dot = (r) => `M${x + w / 2 - r},${y(round.accepted + 0.5)}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
  return {
    drafted: bar(round.drafted.length),
    kept: bar(round.accepted),
    asked: level(round.lookahead),
    oracle: oracle.isLeast ? "" : level(oracle.lookahead),
    least: oracle.isLeast ? level(oracle.lookahead) : "",
    bonus: round.drafted.length && round.outcome === "bonus" ? dot(Math.min(3, w / 2)) : "",
  };
}
