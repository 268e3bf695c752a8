// How a classifier learns: loss and F1 by epoch, drawn as they come.

import uPlot from "../../vendor/uplot.js";
import { measured } from "../core/svg.js";
import { twin } from "../core/tables.js";

const HEIGHT = 220;

export class Learning {
  constructor() {
    this.charts = [
      new Chart(document.getElementById("losses"), [
        { label: "training", color: "soft", dash: [5, 3] },
        { label: "held out", color: "disco" },
      ]),
      new Chart(document.getElementById("f1"), [{ label: "held out", color: "disco" }], [0, 1]),
    ];
  }

  draw(epochs) {
    for (const section of document.querySelectorAll("[data-learning]")) section.hidden = !epochs.length;
    if (!epochs.length) return;
    const column = (name) => epochs.map((epoch) => epoch[name]);
    this.charts[0].draw([column("epoch"), column("train_loss"), column("held_out_loss")]);
    this.charts[1].draw([column("epoch"), column("held_out_f1")]);
    const last = epochs.at(-1), best = epochs.reduce((one, other) => (other.held_out_loss < one.held_out_loss ? other : one));
    document.querySelector("[data-epochs]").textContent =
      `Epoch ${last.epoch}: ${last.train_loss.toFixed(3)} and ${last.held_out_loss.toFixed(3)}. Lowest held out: ${best.held_out_loss.toFixed(3)} in epoch ${best.epoch}, whose weights are kept.`;
    twin("learning", ["epoch", "training loss", "held-out loss", "held-out F1"],
      epochs.map((epoch) => [epoch.epoch, ...["train_loss", "held_out_loss", "held_out_f1"].map((name) => epoch[name].toFixed(4))]));
  }
}

class Chart {
  constructor(place, series, range) {
    Object.assign(this, { place, series, range, data: null });
    this.size = measured(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#again());
    new MutationObserver(() => this.#again()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    new ResizeObserver(() => this.plot && this.plot.width !== this.size.width && this.#again()).observe(place);
  }

  draw(data) {
    this.data = data;
    if (!this.place.clientWidth) return;
    if (!this.plot) this.#make();
    this.plot.setData(data);
  }

  /** Colours are read once, so another theme or width makes it anew. */
  #again() {
    this.plot?.destroy();
    this.plot = null;
    if (this.data) this.draw(this.data);
  }

  #make() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    this.plot = new uPlot({
      width: this.place.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false }, y: this.range ? { range: this.range } : {} },
      axes: [{ ...axis, incrs: [1, 2, 5, 10, 20] }, { ...axis, size: 48 }],
      series: [{}, ...this.series.map(({ label, color: name, dash }) => ({
        label, dash, stroke: color(name), width: 2, points: { show: this.data[0].length === 1 },
      }))],
    }, [[]], this.place);
  }
}
