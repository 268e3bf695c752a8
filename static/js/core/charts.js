// The charts of a page. A chart is one file of `charts/`, which exports
//
//   on                where it stands: { "name of a place": rank among the charts there }
//   title             its heading; or of data, a heading and what is less important of it
//   term              the word of the glossary that stands behind the heading, if there is one
//   sentence(data)    what it shows, in words; without words it is not shown
//   table(data)       its numbers
//   draw(element, data)
//
// and, where it needs them: legend(data), a list of texts and sketches; isWide; element, where it is drawn on anything but
// an SVG; role, where it is more than a picture; everyMs, where it is too dear to be drawn at every frame. The server lists
// a place's charts (`{% charts "place" %}`), so a file is all that a chart needs. Cursor, zoom, hiding and saving are the same for all (core/field.js, core/pointing.js, core/saving.js).

import { become, sketch } from "./become.js";
import { linkOf } from "./field.js";
import "./pointing.js";
import { savesOnClick } from "./saving.js";
import { watchWidth } from "./picture.js";
import { scrolling } from "./tables.js";
import { Whenever } from "./whenever.js";

/** Load the charts of all places within. */
export async function chartsOf(root = document) {
  const places = [...root.querySelectorAll("[data-charts]")], found = [];
  for (const place of places) place.replaceChildren();
  for (const place of places) {
    for (const [url, term] of Object.entries(JSON.parse(place.dataset.charts))) found.push(import(url).then((chart) => [place, nameOf(url), chart, term]));
  }
  const views = (await Promise.all(found)).map((of) => new View(...of));
  return {
    draw: (data, mayWait) => views.forEach((view) => view.draw(data, mayWait)),
    now: () => views.forEach((view) => view.now()),
  };
}

const nameOf = (url) => url.split("/").at(-1).split(".")[0]; // between the two there may be a hash

class View {
  /** `term`: a question mark and what it opens (templates/docs/_term.html), or nothing. */
  constructor(place, name, chart, term) {
    this.name = place.dataset.id ?? name; // a place that a page has several of names its own
    this.chart = chart;
    this.term = [...document.createRange().createContextualFragment(term).children];
    this.section = place.appendChild(document.createElement("section"));
    this.section.className = chart.isWide ? "wide" : "";
    this.section.hidden = true;
    this.frame = sketch(chart.element ?? "svg", { id: this.name, class: `chart ${name}`, role: chart.role ?? (chart.element ? "group" : "img"),
      "aria-labelledby": `${this.name}-title`, "aria-describedby": `${this.name}-sentence` });
    this.when = new Whenever(chart.everyMs ?? 0);
    this.section.addEventListener("toggle", () => this.#show(), true); // it does not bubble
    savesOnClick(this.section, this.name);
    document.addEventListener("field", ({ detail: link }) => this.#isOn(link) && this.#show());
  }

  /** Where it may wait, it is drawn as seldom as the chart says. */
  draw(data, mayWait = false) {
    this.data = data;
    this.when.call(mayWait, () => this.#show());
  }

  now() {
    this.when.now();
  }

  #show() {
    const { chart, data, section } = this, words = chart.sentence(data);
    section.hidden = !words;
    if (!words) return;
    become(section, this.#heading(), ...this.term, chart.draw ? this.frame : null,
      sketch("p", { class: "sentence", id: `${this.name}-sentence` }, words.replaceAll(" %", "\u202f%")), // a number and its sign on one line
      chart.legend ? sketch("p", { class: "legend quiet" }, ...chart.legend(data)) : null,
      chart.draw ? this.#below() : scrolling(words, chart.table(data), this.name));
    if (chart.draw) chart.draw(this.#element(), data);
  }

  #heading() {
    const { title: found } = this.chart;
    const [title, less] = typeof found === "function" ? found(this.data) : [found];
    this.title = title;
    return sketch("h2", { id: `${this.name}-title` }, title, less ? sketch("span", {}, ` ${less}`) : null);
  }

  /** Whether it draws an axis of this link; null is all of them. */
  #isOn(link) {
    return this.data && !this.section.hidden && (link === null || this.#pictures().some((picture) => linkOf(picture) === link));
  }

  #pictures() {
    return [...this.section.querySelectorAll("svg.chart")];
  }

  #below() {
    return sketch("div", { class: "below" }, this.#fold(), sketch("p", { class: "saves" },
      sketch("button", { type: "button", class: "plain", "data-save": "", "aria-label": `Save as PNG: ${this.title}` }, "PNG")));
  }

  /** Its table is made for those who open it. */
  #fold() {
    const isOpen = this.section.querySelector("details")?.open;
    return sketch("details", { class: "twin", "data-twin": this.name }, sketch("summary", {}, "as a table"),
      isOpen ? scrolling(`${this.section.querySelector("h2").textContent}, as a table`, this.chart.table(this.data)) : null);
  }

  #element() {
    if (!this.element) {
      this.element = this.section.querySelector(".chart");
      watchWidth(this.element, () => this.#show());
    }
    return this.element;
  }
}

/** What came with the page, by the ids under which it stands there. */
export const dataOf = () => Object.fromEntries([...document.querySelectorAll("script[type='application/json']")]
  .map((source) => [source.id, JSON.parse(source.textContent)]));
