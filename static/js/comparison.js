// The page of a comparison: what arrives is folded, what is looked at is drawn. Decisions are made in the modules below.

import { Feed } from "./feed.js";
import { Watching } from "./watching.js";
import { Recording } from "./replay.js";
import { Part } from "./part.js";
import { Race, say } from "./race.js";
import { Reading } from "./reading.js";
import { advice, forest, histogram, positions, waterfall } from "./evidence.js";
import { ofForest, ofHistogram, ofPositions } from "./summaries.js";
import { describe } from "./svg.js";
import { twins } from "./twins.js";
import { WhatIf } from "./whatif.js";
import { Whenever } from "./whenever.js";
import { acceptanceOf, grouped, pairedSpeedups } from "./stats.js";
import { tokensPerSecond } from "./trace.js";

const page = JSON.parse(document.getElementById("page").textContent);
const $ = (selector) => document.querySelector(selector);
const known = new Watching(page);
for (const frame of page.frames) known.hear(frame);
const runs = page.runs;
const reported = () => JSON.parse($("#report").textContent); // it comes and is renewed with the words of the verdict
let report = reported();
const baseline = runs.find((run) => run.label === report.baseline).number;
const prompts = new Map(page.prompts.map((prompt) => [prompt.number, prompt]));
const heats = page.prompts.flatMap((prompt) => Array.from({ length: page.repeats }, (_, i) => `${i + 1}.${prompt.number}`))
  .sort((a, b) => parseInt(a) - parseInt(b));

const asked = new URLSearchParams(location.hash.slice(1)); // what somebody looked at, in the address they passed on
const askedHeat = heats.find((heat) => heat === `${asked.get("repeat") ?? 1}.${asked.get("prompt")}`);
const askedRun = runs.find((run) => run.label === asked.get("strategy"));
if (askedRun) $(`[name=run][value="${askedRun.number}"]`).checked = true;

const view = {
  heat: askedHeat ?? known.latest ?? heats[0], run: Number($("[name=run]:checked").value),
  isFollowing: !page.status.is_final && !askedHeat,
  clock: null, // null: everything that is known; otherwise nanoseconds of replay
  playing: null, // when the replay was started, and from where
  speed: 1, recordings: new Map(),
};

const race = new Race($("#race"), runs, baseline);
const reading = new Reading($(".reading"), runs, page.hides_texts ? () => "▪ " : (token) => known.word(token));

let simulated = asked.get("what-if");
let whatIf = null;
function offerWhatIf() {
  whatIf = $("#what-if") && new WhatIf($("#what-if"), page.what_if, {
    label: simulated ?? report.strategies.find((row) => row.strategy === "static")?.label,
    onAsk: (label) => {
      simulated = label;
      remember();
    },
  });
}
if (page.status.is_final) offerWhatIf();

// ---- what is looked at

function look(heat, isFollowing = view.isFollowing) {
  view.isFollowing = isFollowing && !known.status.is_final;
  view.heat = known.lookedAt = heat;
  view.clock = view.playing = null;
  view.recordings.clear();
  race.spanNs = 0;
  feed.follow(known.missing(heat));
  const prompt = promptOf(heat);
  const at = heats.indexOf(heat) + 1;
  say($("#heat"), [placeOf(heat), prompt?.category].filter(Boolean).join(" · "));
  $("#before").disabled = at <= 1;
  $("#after").disabled = at >= heats.length || !known.heats.has(heats[at]);
  if ($("#follow")) $("#follow").checked = view.isFollowing;
  redraw("race");
}

const promptOf = (heat) => prompts.get(Number(heat.split(".")[1]));

function placeOf(heat) {
  const [repeat, number] = heat.split(".").map(Number);
  const which = `Prompt ${page.prompts.findIndex((prompt) => prompt.number === number) + 1} of ${page.prompts.length}`;
  return page.repeats > 1 ? `${which}, repeat ${repeat} of ${page.repeats}` : which;
}

/** Keep in the address what was chosen, so that it can be passed on and survives a reload. */
function remember() {
  const [repeat, prompt] = view.heat.split(".");
  const where = { strategy: runs.find((run) => run.number === view.run).label };
  if (!view.isFollowing) Object.assign(where, page.repeats > 1 ? { prompt, repeat } : { prompt });
  if (simulated) where["what-if"] = simulated;
  history.replaceState(null, "", `#${new URLSearchParams(where)}`);
}

const recording = (sample) => {
  const events = known.events.get(sample) ?? [];
  const found = view.recordings.get(sample);
  if (found && found.events.length === events.length) return found;
  view.recordings.set(sample, new Recording([...events]));
  return view.recordings.get(sample);
};

/** Every strategy's state in the heat that is looked at, now or at the moment of the replay. */
function states(clock = view.clock) {
  const found = new Map();
  for (const [run, sample] of known.samples(view.heat)) {
    found.set(run, clock === null ? known.trace(sample) : recording(sample).at(clock));
  }
  return found;
}

const spanNs = () => Math.max(0, ...[...known.samples(view.heat).values()].map((id) => recording(id).lengthNs));
const isWhole = () => {
  const samples = [...known.samples(view.heat).values()];
  return samples.length === runs.length && samples.every((id) => known.isComplete.has(id));
};

// ---- drawing, once a frame, and only what changed

const stale = new Set();
function redraw(...what) {
  if (what.length && !stale.size) requestAnimationFrame(draw);
  for (const name of what) stale.add(name);
}

function draw(now) {
  const asked = [...stale];
  stale.clear();
  if (view.playing) tick(now);
  if (asked.includes("race")) drawRace();
  if (asked.includes("evidence")) drawEvidence();
  if (asked.includes("status")) drawStatus();
  if (view.playing) redraw("race");
}

/** Whose text is shown: the one chosen, or while it waits for its turn, the last one that has begun. */
function readable(chosen, found) {
  if (found.get(chosen)?.rounds.length || view.clock !== null) return chosen;
  return [...found].filter(([, state]) => state.rounds.length).at(-1)?.[0] ?? chosen;
}

const TEXT_EVERY_MS = 200; // nothing else leaves so much to be swept up
const ANOTHER_TEXT_EVERY_MS = 1000; // nobody reads texts that come faster, and each is made from nothing
const text = new Whenever(TEXT_EVERY_MS), anotherText = new Whenever(ANOTHER_TEXT_EVERY_MS);
let drawnText = "", chosenText = "";
function drawText(found, whole) {
  const shown = readable(view.run, found), { heat } = view, isReplay = view.clock !== null;
  const which = `${heat} ${shown}`, chosen = `${view.run} ${view.isFollowing || heat}`;
  const isNews = chosen === chosenText && !isReplay && !known.status.is_final; // it came, nobody asked to see it
  chosenText = chosen;
  const write = () => {
    if (which !== drawnText) reading.clear(promptOf(heat)?.text ?? "");
    drawnText = which;
    reading.draw(shown, found, whole, isReplay);
  };
  text.call(isNews, () => (isNews && which === drawnText ? write() : anotherText.call(isNews, write)));
}

function drawRace() {
  $(".reading").hidden = !known.rows.size;
  const found = states(), whole = view.clock === null ? found : states(null);
  race.draw(found, isWhole() ? spanNs() : 0, !race.spanNs);
  drawText(found, whole);
  const alone = tokensPerSecond(found.get(baseline) ?? known.trace(""));
  for (const lane of race.lanes) {
    const speed = tokensPerSecond(found.get(lane.run.number) ?? known.trace(""));
    say(lane.numbers.gain, speed && alone ? `${(speed / alone).toFixed(2)}×` : "");
  }
  $("#replay").hidden = !isWhole();
  if (!$("#replay").hidden) {
    $("#scrub").max = Math.ceil(spanNs() / 1e5);
    $("#scrub").value = Math.round((view.clock ?? spanNs()) / 1e5);
    say($("#clock"), `${grouped(Math.round((view.clock ?? spanNs()) / 1e6))} ms`);
    say($("#play"), view.playing ? "Pause" : "Replay");
  }
}

function drawEvidence() {
  if (!report.samples) return;
  const rows = report.strategies.map((row) => ({
    ...row, number: runs.find((run) => run.label === row.label).number, isBaseline: row.label === report.baseline,
  }));
  const chosen = rows.find((row) => row.number === view.run);
  const speculative = chosen?.losses ? chosen : rows.find((row) => row.losses);
  const paired = pairedSpeedups([...known.rows.values()], baseline);
  for (const row of rows) row.places = acceptanceOf([...known.rows.values()], row.number);
  forest($("#forest"), rows, paired);
  positions($("#positions"), rows);
  histogram($("#histogram"), speculative);
  waterfall($("#waterfall"), speculative);
  describe($("#forest"), ofForest(rows, paired));
  describe($("#positions"), ofPositions(rows.filter((row) => row.role !== "baseline")));
  describe($("#histogram"), ofHistogram(speculative?.name, speculative?.acceptance_histogram ?? []));
  describe($("#waterfall"), speculative?.losses ? advice(speculative.losses) : "");
  for (const place of document.querySelectorAll("[data-chosen]")) say(place, speculative?.name ?? "");
  say($("#advice"), speculative?.losses ? advice(speculative.losses) : "");
  twins({ rows, paired, speculative, prompts });
  whatIf?.draw();
  $("#evidence").hidden = false;
}

function drawStatus() {
  const status = known.status;
  document.body.dataset.state = status.state;
  say($("#done"), status.total ? `${status.done} of ${status.total} samples` : "");
  $("#progress").max = status.total || 1;
  $("#progress").value = status.done || 0;
  say($("#left"), status.seconds_left ? `about ${span(status.seconds_left)} left` : "");
  say($("#reason"), status.state === "running" ? (known.rows.size ? "" : WARMING) : status.sentence ?? "");
  for (const gone of document.querySelectorAll("[data-while-running]")) gone.hidden = status.is_final;
}

const WARMING = "A worker has it: it loads the models and lets every strategy run for a moment before the first round counts.";
const ENDS = { succeeded: "Finished", failed: "Failed", cancelled: "Cancelled" };
const span = (seconds) => (seconds < 90 ? `${seconds} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

// ---- replay

function play() {
  if (view.playing) {
    view.playing = null;
    return redraw("race");
  }
  const from = view.clock === null || view.clock >= spanNs() ? 0 : view.clock;
  view.clock = from;
  view.playing = { since: null, from };
  redraw("race");
}

function tick(now) {
  view.playing.since ??= now;
  view.clock = view.playing.from + (now - view.playing.since) * 1e6 * view.speed;
  if (view.clock >= spanNs()) view.clock = view.playing = null;
}

function scrub(tenths) {
  view.playing = null;
  view.clock = tenths * 1e5;
  redraw("race");
}

// ---- what people do

$("#race").addEventListener("change", (event) => {
  if (event.target.name !== "run") return;
  view.run = Number(event.target.value);
  remember();
  redraw("race", "evidence");
});
for (const [button, step] of [["#before", -1], ["#after", 1]]) {
  $(button).addEventListener("click", () => {
    look(heats[heats.indexOf(view.heat) + step], false);
    remember();
  });
}
$("#follow")?.addEventListener("change", (event) => look(event.target.checked ? known.latest ?? view.heat : view.heat, event.target.checked));
$("#play").addEventListener("click", play);
$("#scrub").addEventListener("input", (event) => scrub(Number(event.target.value)));
$("#speed").addEventListener("change", (event) => {
  view.speed = Number(event.target.value);
  if (view.playing) view.playing = { since: null, from: view.clock };
});
$("form[data-while-running]")?.addEventListener("submit", async (event) => {
  event.preventDefault(); // stay here and watch it end
  const form = event.target, button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
    if (!answer.ok) form.submit(); // the page it leads to says why not
  } catch { // no network: to be tried again by whoever asked
    button.disabled = false;
  }
});
document.addEventListener("change", (event) => {
  if (event.target.id !== "baseline") return;
  const query = new URLSearchParams(event.target.value ? { baseline: event.target.value } : {});
  location.assign(`${location.pathname}?${query}${location.hash}`);
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]), select, textarea, dialog")) return;
  if (event.key === "[") $("#before").click();
  else if (event.key === "]") $("#after").click();
  else if (event.key === "r" && !$("#replay").hidden) play();
  else if (event.key === "b") $("#baseline")?.focus();
  else if (event.key >= "1" && event.key <= "9") $(`[name=run][value="${event.key}"]`)?.click();
});
addEventListener("resize", () => redraw("race", "evidence"));
addEventListener("remeasured", () => redraw("race"));
for (const twin of $("#evidence").querySelectorAll(".twin")) twin.addEventListener("toggle", () => redraw("evidence"));

// ---- what arrives

const verdict = new Part("verdict", (text) => {
  $("#verdict").innerHTML = text;
  report = reported();
  redraw("evidence");
});
const questions = new Part("what-if", (text) => {
  $("#forest").closest("section").insertAdjacentHTML("afterend", text);
  offerWhatIf();
});

const CHANGES = { // what has to be drawn anew once a frame was heard
  events: ["race"], complete: ["race"], samples: ["race", "status"], comparison: ["status"],
};
const EVIDENCE_EVERY_MS = 1000; // while samples come in: of a thousand prompts it is a thousand dots a strategy
const evidence = new Whenever(EVIDENCE_EVERY_MS);

const feed = new Feed({
  socketUrl: page.socket, pollUrl: page.poll, since: page.since, isOver: page.status.is_final,
  onFrame: (frame) => {
    known.hear(frame);
    if (frame.t === "report" && frame.samples !== page.samples) {
      page.samples = frame.samples;
      verdict.renew();
    }
    if (view.isFollowing && known.latest && known.latest !== view.heat) look(known.latest);
    else if (frame.t === "samples") feed.follow(known.missing(view.heat));
    if (frame.t === "samples") $("#after").disabled = !known.heats.has(heats[heats.indexOf(view.heat) + 1]);
    redraw(...(CHANGES[frame.t] ?? []));
    if (frame.t === "samples" || frame.t === "report") evidence.call(true, () => redraw("evidence"));
  },
  onMode: (mode, sentence) => {
    $("#mode").dataset.mode = mode;
    say($("#mode"), mode === "finished" ? ENDS[known.status.state] ?? sentence : sentence);
    if (mode === "finished") {
      if (!page.status.is_final) verdict.renew();
      if (!page.status.is_final && page.samples) questions.renew();
      view.isFollowing = false;
      redraw("race", "status");
    }
  },
});

feed.start();
look(view.heat);
redraw("status", "evidence");
