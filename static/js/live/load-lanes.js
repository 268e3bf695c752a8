// Lanes under load: one for each strategy and load. A bar is a request, from when it came to its last token; bars above
// each other are served at once. A click on one shows its text. A replay draws the blocks that hold one prompt: all start
// together, and lanes of one load have one scale, so the shorter lane is the faster.

import { become, sketch } from "../core/become.js";
import { size, watchWidth, widthOf } from "../core/picture.js";
import { grouped, ms, percent, say } from "../core/words.js";
import { asOf, firstOf, onOneClock, shownBlock, spanOf, totals, totalsAsOf } from "./requests.js";

const TALLEST = 48, THICKEST = 8; // of a lane, and of a bar in it

export class LoadLanes {
  /** `onRequest` is called with the request and the run that somebody chose. */
  constructor(lanes, runs, onRequest) {
    this.lanes = runs.map((run) => new Lane(run, lanes.querySelector(`[data-lane="${run.number}"]`), onRequest));
    for (const lane of this.lanes) watchWidth(lane.svg, () => dispatchEvent(new Event("remeasured")));
  }

  forget() {}

  /** Lay each lane's requests out. `samples`: of the prompt that is looked at, by run. */
  read(known, samples, run) {
    const isOver = known.status.is_final;
    for (const lane of this.lanes) {
      const sample = isOver || lane.run.number === run ? samples.get(lane.run.number) : undefined;
      lane.read(known.requests.of(lane.run.number, (id) => known.state(id)), sample);
    }
    const spans = new Map();
    for (const lane of this.lanes) spans.set(lane.load, Math.max(spans.get(lane.load) ?? 0, lane.spanNs));
    for (const lane of this.lanes) lane.scaleNs = isOver ? spans.get(lane.load) : lane.spanNs;
  }

  /** `clock`: ns of a replay, or null for all that is known. */
  draw(clock) {
    for (const lane of this.lanes) lane.draw(clock);
  }

  get spanNs() {
    return Math.max(0, ...this.lanes.map((lane) => lane.spanNs));
  }

  /** When a request began to be served, in ns of a replay. */
  begunAt(run, sample) {
    return this.lanes.find((lane) => lane.run.number === run).begunAt(sample);
  }
}

class Lane {
  constructor(run, element, onRequest) {
    this.run = run;
    this.load = `${run.concurrency} ${run.rate} ${run.recorded}`;
    this.element = element;
    this.svg = element.querySelector(".track");
    this.numbers = Object.fromEntries([...element.querySelectorAll("[data-number]")].map((place) => [place.dataset.number, place]));
    this.svg.addEventListener("click", (event) => {
      const found = this.#at(event);
      if (!found) return;
      event.preventDefault(); // the label would choose the lane, and whichever of its texts is newest
      onRequest(found, this.run);
    });
  }

  read(requests, chosen) {
    const running = requests.filter((one) => !one.isOver).map((one) => one.served);
    const known = `${requests.length} ${running} ${chosen}`;
    if (known === this.known) return;
    Object.assign(this, { known, requests, chosen, shown: shownBlock(onOneClock(requests, this.run.concurrency === 1), chosen) });
    this.spanNs = spanOf(this.shown);
  }

  begunAt(sample) {
    const found = this.shown.find(({ id }) => id === sample);
    return found ? found.begun - firstOf(this.shown) : 0;
  }

  draw(clock) {
    const width = widthOf(this.svg), stamp = `${width} ${this.known} ${this.scaleNs} ${clock}`;
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    this.element.classList.toggle("waiting", !this.requests.length);
    const { shown, chosen } = this, drawn = clock === null ? shown : asOf(shown, clock);
    const rows = 1 + Math.max(0, ...shown.map((one) => one.row)), high = Math.min(THICKEST, TALLEST / rows);
    const x = (ns) => ((ns - firstOf(shown)) / Math.max(this.scaleNs, 1e6)) * (width - 2) + 1;
    this.bars = drawn.map((one) => placed(one, x, high));
    size(this.svg, width, rows * high + 1);
    const path = (name, meets, from, to) => sketch("path", { class: name, d: this.bars.filter(meets).map((bar) => shape(bar, bar[from], bar[to])).join("") });
    become(this.svg, sketch("path", { class: "ground", d: `M0,${rows * high + 0.5}H${width}` }),
      path("queued", (bar) => bar.x1 > bar.x0, "x0", "x1"), path("tokens over", (bar) => bar.isOver, "x1", "x2"),
      path("tokens", (bar) => !bar.isOver && bar.hasBegun !== false, "x1", "x2"), path("chosen", (bar) => bar.id === chosen, "x0", "x2"));
    if (clock === null) this.#say(totals(this.requests, this.run), this.requests.length);
    else this.#say(totalsAsOf(drawn, this.run), drawn.filter((one) => one.hasBegun).length);
  }

  #at({ clientX, clientY }) {
    const { left, top } = this.svg.getBoundingClientRect(), x = clientX - left, y = clientY - top;
    const away = (bar) => Math.max(bar.x0 - x, 0, x - bar.x2) + Math.abs(bar.y + bar.high / 2 - y);
    return [...(this.bars ?? [])].sort((a, b) => away(a) - away(b))[0];
  }

  #say({ speed, running, waitedNs, acceptance }, begun) {
    say(this.numbers.speed, speed ? grouped(Math.round(speed)) : "");
    say(this.numbers.running, begun ? String(running) : "");
    say(this.numbers.waited, begun ? ms(waitedNs) : "");
    say(this.numbers.acceptance, acceptance === null ? "" : percent(acceptance));
    say(this.numbers.begun, begun ? String(begun) : "");
  }
}

/** Where a bar lies: when its request came, began and ended, and its row. */
const placed = (one, x, high) => ({ ...one, x0: x(one.from), x1: x(one.begun), x2: Math.max(x(one.begun) + 1, x(one.to)), y: one.row * high, high });

function shape({ y, high }, from, to) {
  const gap = Math.min(1, high / 4);
  return `M${from.toFixed(1)},${(y + gap).toFixed(1)}H${Math.max(from + 0.5, to - 0.5).toFixed(1)}V${(y + high).toFixed(1)}H${from.toFixed(1)}Z`;
}
