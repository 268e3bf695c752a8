// Round by round: how far the draft looked ahead, how much it drafted, how much of that was kept, and how far it ought
// to have looked: the oracle's lookahead.

import { sketch } from "../core/become.js";
import { key } from "../core/picture.js";
import { plot } from "../core/plot.js";
import { table as made } from "../core/tables.js";
import { counted, ms } from "../core/words.js";
import { inSteps } from "../live/room.js";

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

const FEWEST = 24; // columns there is room for
const KINDS = { drafted: "drafted", kept: "kept", asked: "asked", oracle: "oracle", least: "oracle least", bonus: "bonus" };

/** One shape for all rounds of a kind. `all` is what is known of the sample, so that a replay does not rescale under way. */
export function draw(picture, { state, all, oracle, chosen, onRound }) {
  const bounds = all.rounds.map(oracle);
  const most = Math.max(3, ...all.rounds.map((round, i) => Math.max(round.lookahead, round.accepted + 1, bounds[i].lookahead)));
  const columns = ({ x, top, bottom }) => sketch("g", { class: "columns" }, ...state.rounds.map(({ number }, i) => sketch("rect",
    { class: number === chosen ? "open" : null, "data-round": number, x: x(i), y: top, width: x(i + 1) - x(i), height: bottom - top })));
  plot(picture, {
    x: { low: 0, high: roomFor(all), at: [] }, y: { low: 0, high: most, isWhole: true },
    height: 124, right: 0, isByColumn: true, head: (place) => `round ${Math.floor(place) + 1}`,
    layers: [(scale) => {
      const shapes = state.rounds.map((round, i) => column(round, scale.x(i), scale.x(i + 1) - scale.x(i), scale.y, bounds[i]));
      return [columns(scale), ...Object.entries(KINDS).map(([name, kind]) => sketch("path", { class: kind, d: shapes.map((shape) => shape[name]).join("") }))];
    }],
    series: [{ name: "", points: state.rounds.map((round, i) => pointOf(round, i, onRound)) }],
  });
}

const pointOf = (round, i, onRound) => ({ x: i + 0.5, y: round.accepted, open: () => onRound(round.number), look: () => onRound(round.number),
  text: round.drafted.length ? `${round.accepted} of ${round.drafted.length} kept, asked for ${round.lookahead}` : "no draft" });

/** Under way there is room for rounds to come, so that not each of them moves all columns. */
function roomFor({ rounds, reason }) {
  const least = Math.max(rounds.length, FEWEST);
  return reason === null ? inSteps(least) : least;
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
