// What if: sliders, and what the server's replay answers. Nothing here was measured, and everything says so.

import { curve, onCurve } from "./curve.js";
import { savesOnClick } from "../core/saving.js";
import { put, table } from "../core/tables.js";
import { say, times, within } from "../core/words.js";

const SETTLE_MS = 40; // while a slider is dragged
const KNOB = ":is(input, select)"; // the first one of a strategy is the axis of its curve

/** Whether a knob can show this value. A range would show its nearest end instead of one beyond. */
export const canBe = (knob, value) => knob.options
  ? [...knob.options].some((option) => option.value === value)
  : Number(value) >= Number(knob.min) && Number(value) <= Number(knob.max);

/** What the knobs say, as a query: only those of the chosen strategy. */
export const question = (strategy, knobs) => new URLSearchParams({ strategy, ...knobs }).toString();

/** `threshold:0.2,cap=8 @4` → its strategy and knobs, as a label spells them; null for anything else. `params` names each
    strategy's first knob, nothing if it has none. */
export function asked(label, params) {
  const [setting, users] = (label ?? "").split(" @"), [strategy, ...rest] = setting.split(":");
  if (!(strategy in params)) return null;
  const [first, ...others] = rest.join(":").split(",");
  const named = Object.fromEntries(others.map((other) => other.split("=")));
  const axis = params[strategy] ? { [params[strategy]]: first } : {};
  return { strategy, knobs: { ...axis, ...named, ...(users ? { users } : {}) } };
}

/** The measured run to stand beside: the very setting if it ran, otherwise the fastest one could deploy. */
export function beside(answer) {
  const ranked = answer.measured.filter((row) => row.role === "ranked");
  return ranked.find((row) => row.label === answer.label)
    ?? ranked.reduce((best, row) => (!best || row.speedup.ratio > best.speedup.ratio ? row : best), null);
}

/** What "run this" asks for: the setting, and the fastest measured one that the form can hold beside it. */
export function toRun(answer) {
  const fits = (row) => row.label !== answer.label && (row.strategy !== answer.strategy || onCurve(answer).includes(row));
  const other = beside({ ...answer, measured: answer.measured.filter(fits) });
  return [answer.label, other?.label].filter(Boolean).map((label) => label.split(" @")[0]).join(",");
}

export function sentence(answer) {
  const { ratio, low, high, prompts } = answer.speedup;
  const doubt = low === null ? (prompts === 1 ? "a single prompt" : `${prompts} prompts`) : `95 % interval ${within({ low, high })}, ${prompts} prompts`;
  const many = answer.users > 1 ? ` with ${answer.users} users at once` : "";
  const words = [`Simulated: ${answer.label} would be ${ratio.toFixed(2)} times as fast as autoregressive${many} (${doubt}).`];
  const other = beside(answer);
  if (answer.hit_rate != null) words.push(`It would have prepared a branch for ${Math.round(100 * answer.hit_rate)} % of the outcomes.`);
  if (other) words.push(`Measured: ${other.name} is ${other.speedup.ratio.toFixed(2)} times as fast.`);
  if (answer.error !== null) words.push(`On the strategies that ran, this replay is off by at most ${Math.ceil(100 * answer.error)} %.`);
  return words.join(" ");
}

export class WhatIf {
  /** `place` holds the form and the pictures; the server at `url` is asked when the place is nearly in view; `onAsk` is
      told what is asked. */
  constructor(place, url, { label, onAsk }) {
    this.place = place;
    this.form = place.querySelector("form");
    this.url = url;
    this.onAsk = onAsk;
    this.params = Object.fromEntries([...place.querySelectorAll("[data-knobs]")].map((knobs) =>
      [knobs.dataset.knobs, knobs.querySelector(KNOB)?.name ?? ""]));
    this.#turn(asked(label, this.params));
    this.form.addEventListener("input", () => {
      this.#show();
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.#ask(true), SETTLE_MS);
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    savesOnClick(place, "what-if");
    document.addEventListener("field", () => this.draw());
    new IntersectionObserver(([entry], watcher) => {
      if (!entry.isIntersecting) return;
      watcher.disconnect();
      this.#ask(false);
    }, { rootMargin: "600px" }).observe(place);
  }

  draw() {
    if (this.answer?.curve.param) curve(this.place.querySelector("#curve"), this.answer, (value) => this.#pick(value));
  }

  get #strategy() {
    return this.form.elements.strategy.value;
  }

  get #knobs() {
    const inputs = this.form.querySelectorAll(`[data-knobs="${this.#strategy}"] :is(input, select), [name=users]`);
    return Object.fromEntries([...inputs].map((input) => [input.name, input.value]));
  }

  #turn(to) {
    if (to) {
      this.form.elements.strategy.value = to.strategy;
      for (const [name, value] of Object.entries(to.knobs)) {
        const knob = this.form.querySelector(`[data-knobs="${to.strategy}"] [name="${name}"], [name="${name}"][data-any]`);
        const shown = knob && [value, "newest"].find((one) => canBe(knob, one)); // a label names a classifier by its id
        if (shown !== undefined && knob) knob.value = shown;
      }
    }
    this.#show();
  }

  #show() {
    for (const knobs of this.place.querySelectorAll("[data-knobs]")) knobs.hidden = knobs.dataset.knobs !== this.#strategy;
    for (const input of this.form.querySelectorAll("input[type=range]")) say(input.parentElement.querySelector("output"), input.value);
    if (!this.place.classList.contains(`s-${this.#strategy}`)) this.#forget();
  }

  /** What was answered about another strategy goes before the answer about this one comes. */
  #forget() {
    this.request?.abort();
    this.answer = null;
    this.place.className = `wide what-if s-${this.#strategy}`;
    say(this.place.querySelector("#what-said"), "");
  }

  /** Ask for a value of the curve. */
  #pick(value) {
    this.form.querySelector(`[data-knobs="${this.#strategy}"] ${KNOB}`).value = value;
    this.#show();
    this.#ask(true);
  }

  async #ask(isMeant) {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const strategy = this.#strategy, knobs = this.#knobs;
    const get = (changed = {}) => fetch(`${this.url}?${question(strategy, { ...knobs, ...changed })}`, { signal: request.signal });
    try {
      const response = await get(), answer = await response.json();
      if (!response.ok) return this.#refused([answer.detail, answer.hint]);
      this.#tell(answer, isMeant);
      for (const value of answer.curve.missing) this.#more(await (await get({ [answer.curve.param]: value })).json());
    } catch (error) {
      if (!request.signal.aborted) this.#refused(["The server did not answer; try again."]);
    }
  }

  #tell(answer, isMeant) {
    this.answer = answer;
    this.place.dataset.answer = answer.label;
    say(this.place.querySelector("#what-said"), sentence(answer));
    this.place.querySelector("#what-notes").textContent = answer.notes.join(" ");
    const run = this.place.querySelector("#what-run");
    const load = answer.users > 1 ? { concurrency: answer.users } : {};
    if (run) run.href = `${run.dataset.form}&${new URLSearchParams({ strategies: toRun(answer), ...load })}`;
    this.#isRefused(false);
    this.place.classList.toggle("curveless", !answer.curve.param);
    put("what-if", twin(answer));
    put("replayed", checks(answer));
    this.draw();
    if (isMeant) this.onAsk(answer.label);
  }

  /** Another point of the same curve: the answer stays the one that was asked for. */
  #more({ curve }) {
    if (!curve) return;
    this.answer = { ...this.answer, curve };
    put("what-if", twin(this.answer));
    this.draw();
  }

  #isRefused(is) {
    this.place.classList.toggle("refused", is);
    this.place.classList.toggle("answered", !is);
  }

  #refused(sentences) {
    this.answer = null;
    this.#isRefused(true);
    say(this.place.querySelector("#what-said"), sentences.filter(Boolean).join(" "));
  }
}

const twin = (answer) => table([answer.curve.param, "simulated", "at least", "at most"],
  answer.curve.points.map((point) => [point.value, times(point.ratio), times(point.low), times(point.high)]));

const checks = (answer) => table(["strategy", "measured", "the replay says"],
  answer.measured.map((row) => [row.name, times(row.speedup.ratio), times(row.simulated ?? undefined)]));
