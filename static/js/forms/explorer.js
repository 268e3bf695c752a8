// The threshold explorer: what moving a classifier's threshold would do, from recorded prompts and measured costs.

import { watchWidth } from "../core/picture.js";
import { dots, level, line, markAt, plot, speedupAxis, upright } from "../core/plot.js";
import { savesOnClick } from "../core/saving.js";
import { put, table } from "../core/tables.js";
import { times } from "../core/words.js";

const RULES = {
  priced: "It stops when one more token costs more time than it can bring.",
  threshold: "It stops after a token that it gives less than the threshold, as published.",
  copied: "It ends a copy before it is less likely than the threshold to be accepted whole.",
};

/** The point of a sweep that is nearest to a threshold. */
export const nearest = (points, threshold) =>
  points.reduce((one, other) => (Math.abs(other.threshold - threshold) < Math.abs(one.threshold - threshold) ? other : one));

/** `levels`: other speed-ups that the card predicts; `strategies`: by rule, the one that asks the classifier. */
export function explore({ card, levels, strategies }) {
  const slider = document.getElementById("threshold-at"), now = document.getElementById("threshold-now"), told = document.getElementById("told");
  const radios = [...document.querySelectorAll("input[name=rule]")], picture = document.getElementById("sweep");
  const rule = () => radios.find((radio) => radio.checked)?.value ?? radios[0].value, asking = () => strategies[rule()];
  const points = () => card.sweep[rule()];
  const curve = (found, cls) => line(found.map((point) => [point.threshold, point.speedup]), cls);
  const all = Object.values(card.sweep).flat().map((point) => point.speedup);
  const y = speedupAxis([...all, ...levels.map((bound) => bound.at)]);

  function draw() {
    const chosen = nearest(points(), Number(slider.value)), own = card.thresholds?.[rule()] ?? null;
    const strategy = asking(), named = levels.map((bound) => ({ at: bound.at, cls: `s-${bound.strategy} bound`, label: bound.name }));
    plot(picture, { x: { low: 0, high: 1, label: "threshold" }, y, levels: named, layers: [
      level(1),
      ...Object.entries(card.sweep).filter(([name]) => name !== rule()).map(([, other]) => curve(other, "other")),
      upright(chosen.threshold, `s-${strategy} now`),
      dots([{ x: chosen.threshold, y: chosen.speedup, r: 6 }], `s-${strategy} now`),
      own === null ? null : markAt(strategy, [own, nearest(points(), own).speedup], 5, "own"),
    ], series: [{ name: rule(), points: points().map((point) => [point.threshold, point.speedup]), layer: curve(points(), `s-${strategy}`) }] });
  }

  function show() {
    const chosen = nearest(points(), Number(slider.value)), other = levels.find((bound) => bound.role === "ranked");
    now.textContent = chosen.threshold.toFixed(2);
    const beside = other ? `, ${percentOf(chosen.speedup / other.at)} ${other.name}` : "";
    told.textContent = `${times(chosen.speedup)} predicted${beside}: ${chosen.drafted.toFixed(1)} tokens ${rule() === "copied" ? "copied" : "drafted"} a round, ` +
      `${chosen.accepted.toFixed(1)} of them accepted. ${RULES[rule()] ?? ""}`;
    fill(`${asking()}.rule`, rule());
    fill(`${asking()}.threshold`, chosen.threshold);
    draw();
  }

  function begin() {
    slider.value = card.thresholds?.[rule()] ?? 0.5;
    show();
  }

  slider.addEventListener("input", show);
  for (const radio of radios) radio.addEventListener("change", begin);
  begin();
  watchWidth(picture, draw);
  savesOnClick(picture.closest("section"), "sweep");
  document.addEventListener("field", draw);
  const rules = Object.keys(card.sweep);
  put("sweep", table(["threshold", ...rules], card.sweep[rules[0]].map((point, i) =>
    [point.threshold, ...rules.map((name) => times(card.sweep[name][i]?.speedup))])));
}

const percentOf = (ratio) => (ratio >= 1 ? `${((ratio - 1) * 100).toFixed(0)} % faster than` : `${((1 - ratio) * 100).toFixed(0)} % slower than`);

function fill(name, value) {
  const box = document.querySelector(`.run-it [name="${name}"]`);
  if (box) box.value = value;
}
