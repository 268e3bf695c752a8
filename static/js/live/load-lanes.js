// Lanes under load: one for each strategy and load. A bar is a request, from when it came to its last token; bars above
// each other are served at once. A click on one shows its text.

import { become, sketch } from "../core/become.js";
import { size, watchWidth, widthOf } from "../core/picture.js";
import { grouped, ms, percent, say } from "../core/words.js";
import { onOneClock, shownBlock, totals } from "./requests.js";

const TALLEST = 48, THICKEST = 8; // of a lane, and of a bar in it

export class LoadLanes {
  /** `onRequest` is called with the request and the run that somebody chose. */
  constructor(lanes, runs, onRequest) {
    this.lanes = runs.map((run) => new Lane(run, lanes.querySelector(`[data-lane="${run.number}"]`), onRequest));
    for (const lane of this.lanes) watchWidth(lane.svg, () => dispatchEvent(new Event("remeasured")));
  }

  forget() {}

  /** `chosen`: the sample whose text is shown. */
  draw(known, chosen) {
    for (const lane of this.lanes) lane.draw(known.requests.of(lane.run.number, (id) => known.trace(id)), chosen);
  }
}

class Lane {
  constructor(run, element, onRequest) {
    this.run = run;
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

  draw(requests, chosen) {
    const running = requests.filter((one) => !one.isOver).map((one) => one.served);
    const stamp = `${widthOf(this.svg)} ${requests.length} ${running} ${chosen}`;
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    this.element.classList.toggle("waiting", !requests.length);
    const width = widthOf(this.svg), shown = shownBlock(onOneClock(requests, this.run.concurrency === 1), chosen);
    const rows = 1 + Math.max(0, ...shown.map((one) => one.row)), high = Math.min(THICKEST, TALLEST / rows);
    this.bars = placed(shown, width, high);
    size(this.svg, width, rows * high + 1);
    const path = (name, meets, from, to) => sketch("path", { class: name, d: this.bars.filter(meets).map((bar) => shape(bar, bar[from], bar[to])).join("") });
    become(this.svg, sketch("path", { class: "ground", d: `M0,${rows * high + 0.5}H${width}` }),
      path("queued", (bar) => bar.x1 > bar.x0, "x0", "x1"), path("tokens over", (bar) => bar.isOver, "x1", "x2"),
      path("tokens", (bar) => !bar.isOver, "x1", "x2"), path("chosen", (bar) => bar.id === chosen, "x0", "x2"));
    this.#say(totals(requests, this.run), requests.length);
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

/** Where each bar lies: when the request came, began and ended, and its row. */
function placed(requests, width, high) {
  const first = Math.min(...requests.map((one) => one.from)), last = Math.max(...requests.map((one) => one.to), first + 1e6);
  const x = (ns) => ((ns - first) / (last - first)) * (width - 2) + 1;
  return requests.map((one) => ({ ...one, x0: x(one.from), x1: x(one.begun), x2: Math.max(x(one.begun) + 1, x(one.to)), y: one.row * high, high }));
}

function shape({ y, high }, from, to) {
  const gap = Math.min(1, high / 4);
  return `M${from.toFixed(1)},${(y + gap).toFixed(1)}H${Math.max(from + 0.5, to - 0.5).toFixed(1)}V${(y + high).toFixed(1)}H${from.toFixed(1)}Z`;
}
