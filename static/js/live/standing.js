// How each strategy stands over all prompts so far: its speed-up, and around it the interval, which narrows as samples
// come in.

import { become, sketch } from "../core/become.js";
import { say } from "../core/words.js";

const WIDTH = 80, HEIGHT = 12, EDGE = 2;

/** All lanes have one scale; the upright line is the baseline's 1. A lane leads if it is shown to be the fastest of its load. */
export function drawStanding(lanes, { strategies: rows, loads }) {
  const fastest = new Set(loads.map((load) => load.fastest)), gains = new Map(rows.map((row) => [row.label, row.speedup]));
  const known = [...gains.values()].filter(Boolean);
  const low = Math.min(0.9, ...known.map((gain) => gain.low ?? gain.ratio));
  const high = Math.max(1.1, ...known.map((gain) => gain.high ?? gain.ratio));
  const x = (ratio) => EDGE + ((ratio - low) / (high - low)) * (WIDTH - 2 * EDGE);
  for (const lane of lanes) {
    const gain = gains.get(lane.run.label);
    lane.element.classList.toggle("leads", fastest.has(lane.run.label));
    say(lane.numbers.standing, gain ? `${gain.ratio.toFixed(2)}×` : "");
    become(lane.element.querySelector(".standing svg"), ...(gain ? drawn(gain, x) : []));
  }
}

const drawn = (gain, x) => [
  sketch("path", { class: "one", d: `M${x(1)},0V${HEIGHT}` }),
  gain.low === null ? null : sketch("path", { class: "interval", d: `M${x(gain.low)},${HEIGHT / 2}H${x(gain.high)}` }),
  sketch("path", { class: "ratio", d: `M${x(gain.ratio)},2V${HEIGHT - 2}` }),
];
