// The page of a comparison: what arrives is folded, what is looked at is drawn. Decisions are made in the modules below.

import { chartsOf } from "../core/charts.js";
import { Feed } from "../live/feed.js";
import { Findings } from "../live/findings.js";
import { Heats } from "../live/heats.js";
import { LoadLanes } from "../live/load-lanes.js";
import { Moment } from "../live/moment.js";
import { framesOf, rowsOf } from "../live/packed.js";
import { Part } from "../live/part.js";
import { PromptTable } from "../live/prompt-table.js";
import { RaceLanes } from "../live/race-lanes.js";
import { Reading } from "../live/reading.js";
import { drawStanding } from "../live/standing.js";
import "../core/sections.js";
import { sortable } from "../core/sorting.js";
import { brief, say } from "../core/words.js";
import { tokensPerSecond } from "../live/sample-state.js";
import { ComparisonState } from "../live/comparison-state.js";
import { drawMode, drawWay, entitle } from "../live/way.js";
import { WhatIf } from "../forms/whatif.js";
import { Whenever } from "../core/whenever.js";

const dataOf = (id) => JSON.parse(document.getElementById(id).textContent);
const page = { ...dataOf("page"), rows: rowsOf(dataOf("rows")) };
const $ = (selector) => document.querySelector(selector);
const runs = page.runs;
const heats = new Heats(page);
const findings = new Findings(runs, heats.prompts);
const runOf = (number) => runs.find((run) => run.number === number);
const known = new ComparisonState(page, (number) => runOf(number).baseline, page.is_whole ? Infinity : undefined);
for (const trace of dataOf("traces")) for (const frame of framesOf(trace)) known.hear(frame);
for (const run of runs) run.mayLeave = run.role === "peer" && run.number !== run.baseline; // out of the picture
const race = page.is_loaded ? new LoadLanes($("#race"), runs, showRequest) : new RaceLanes($("#race"), runs, runs[0].baseline);
const moment = new Moment(known, page.is_loaded ? race : null);
let reading, ofText, ofAll; // their files come last: meanwhile nothing is drawn, but every key is obeyed

const asked = heats.read(location.hash); // what somebody looked at, in the address they passed on
if (asked.run) $(`[name=run][value="${asked.run}"]`).checked = true;
const view = {
  heat: asked.heat ?? known.latest ?? heats.all[0], run: Number($("[name=run]:checked").value),
  isFollowing: !page.status.is_final && !asked.heat,
};

let simulated = asked.whatIf;
let whatIf = null;
function offerWhatIf() {
  whatIf = $("#what-if") && new WhatIf($("#what-if"), page.what_if, {
    label: simulated ?? findings.report.strategies.find(({ strategy }) => $(`#what-if [data-knobs="${strategy}"] [name]`))?.label,
    onAsk: (label) => {
      simulated = label;
      remember();
    },
  });
}

// ---- what is looked at

function look(heat, isFollowing = view.isFollowing, at = null) {
  view.isFollowing = isFollowing && !known.status.is_final;
  view.heat = known.lookedAt = heat;
  moment.look(heat, at);
  race.forget();
  follow();
  say($("#heat"), heats.nameOf(heat));
  $("#before").disabled = !heats.beside(heat, -1);
  offerNext();
  if ($("#follow")) $("#follow").checked = view.isFollowing;
  redraw("race");
}

/** Ask for what is not here of the heat that is looked at. A page that is one file asks nobody. */
function follow() {
  if (!page.is_whole) feed.follow(known.missing(view.heat));
}

/** Under load texts are written side by side: stay with one until it ends, then go to the newest. */
function lookAtLatest() {
  if (!page.is_loaded) {
    if (known.latest !== view.heat) look(known.latest);
    return;
  }
  const shown = known.samples(view.heat).get(view.run), isLatest = known.latest === view.heat && known.latestRun === view.run;
  if (isLatest || (shown && !known.state(shown).reason)) return;
  chooseRun(known.latestRun);
  look(known.latest);
}

function chooseRun(run) {
  view.run = run;
  $(`[name=run][value="${run}"]`).checked = true;
}

/** A request that somebody chose in a lane. */
function showRequest({ prompt, repeat }, run) {
  const { clock, playing } = moment;
  chooseRun(run.number);
  look(`${repeat}.${prompt}`, false, { clock, playing });
  remember();
  redraw("evidence");
}

/** A prompt that somebody chose in a chart or in the table of samples: its race, and the text of one run. */
function showPrompt(prompt, run) {
  const heat = heats.all.find((one) => one.endsWith(`.${prompt}`) && known.heats.has(one));
  if (!heat) return;
  if (run) chooseRun(run);
  look(heat, false);
  remember();
  redraw("evidence");
  $("#race-title").scrollIntoView({ block: "start" });
}

function offerNext() {
  $("#after").disabled = !known.heats.has(heats.beside(view.heat, 1));
}

/** Keep in the address what was chosen, so that it can be passed on and survives a reload. */
function remember() {
  const where = heats.written({ heat: view.isFollowing ? null : view.heat, run: view.run, whatIf: simulated });
  history.replaceState(null, "", where);
}

// ---- drawing, once a frame, and only what changed

const WARMING = "A worker loads the models and runs every strategy for a moment before the first round counts.";
const stale = new Set();
function redraw(...what) {
  if (what.length && !stale.size && reading) requestAnimationFrame(draw);
  for (const name of what) stale.add(name);
}

function draw(now) {
  const asked = [...stale];
  stale.clear();
  if (moment.playing) moment.tick(now);
  if (asked.includes("race")) drawRace();
  if (asked.includes("evidence")) drawEvidence();
  if (asked.includes("status")) drawWay(known.status, known.heats.size ? "" : WARMING);
  if (moment.playing) redraw("race");
}

/** Whose text is shown: the one chosen, or while it waits for its turn, the last one that has begun. */
function readable(chosen, found) {
  if (found.get(chosen)?.tokens.length || moment.isReplay) return chosen;
  return [...found].filter(([, state]) => state.tokens.length).at(-1)?.[0] ?? chosen;
}

const isOver = () => known.status.is_final || moment.isReplay; // otherwise what is drawn is news, which may wait

const lanes = new Whenever(0, $("#race"));
const TEXT_EVERY_MS = 200; // nothing else leaves so much to be swept up
const ANOTHER_TEXT_EVERY_MS = 1000; // nobody reads texts that come faster, and each is made from nothing
const text = new Whenever(TEXT_EVERY_MS, $(".reading")), anotherText = new Whenever(ANOTHER_TEXT_EVERY_MS);
let drawnText = "", chosenText = "";
/** The end of the prompt before the text; of a chat, all that the page has of it below. */
function drawPrompt({ text = "", turn = null } = {}) {
  reading.clear(text);
  $("#asked").hidden = !(turn && text);
  $("#asked pre").textContent = text;
}

function drawText(found, whole) {
  const shown = readable(view.run, found), { heat } = view, isReplay = moment.isReplay;
  const which = `${heat} ${shown}`, chosen = `${view.run} ${view.isFollowing || heat}`;
  const isNews = chosen === chosenText && !isOver(); // it came, nobody asked to see it
  chosenText = chosen;
  const write = () => {
    if (which !== drawnText) drawPrompt(heats.promptOf(heat));
    drawnText = which;
    reading.draw(shown, found, whole, isReplay);
  };
  text.call(isNews, () => (isNews && which === drawnText ? write() : anotherText.call(isNews, write)));
}

function drawRace() {
  $(".reading").hidden = !known.heats.size;
  if (page.is_loaded) race.read(known, known.samples(view.heat), view.run);
  const found = moment.states(), whole = moment.isReplay ? moment.whole() : found;
  const isWhole = moment.isWhole(runs);
  lanes.call(!isOver(), () => drawLanes(found, isWhole && !page.is_loaded ? moment.lengths() : null));
  drawText(found, whole);
  $("#replay").hidden = !isWhole;
  if (isWhole) drawReplay(moment.spanNs);
}

function drawLanes(found, lengths) {
  if (page.is_loaded) return race.draw(moment.clock);
  race.draw(found, lengths);
  const alone = tokensPerSecond(found.get(runs[0].baseline) ?? known.state(""));
  for (const lane of race.lanes) {
    const speed = tokensPerSecond(found.get(lane.run.number) ?? known.state(""));
    say(lane.numbers.gain, speed && alone ? `${(speed / alone).toFixed(2)}×` : "");
  }
}

const TENTH = 1e5; // ns: a step of the slider is a tenth of a millisecond
function drawReplay(spanNs) {
  const at = moment.clock ?? spanNs;
  $("#scrub").max = Math.ceil(spanNs / TENTH);
  $("#scrub").value = Math.round(at / TENTH);
  say($("#clock"), brief(at));
  say($("#play"), moment.playing ? "Pause" : "Replay");
}

const prompts = new PromptTable($("#prompts"), showPrompt);
const EVIDENCE_EVERY_MS = 1000; // while samples come in: of a thousand prompts it is a thousand dots a strategy
const evidence = new Whenever(EVIDENCE_EVERY_MS, $("#evidence"));
const renewEvidence = () => evidence.call(!isOver(), () => redraw("evidence"));

function drawEvidence() {
  if (findings.report.samples) {
    const data = findings.data(known.results, view.run);
    ofAll.draw({ ...data, onPrompt: showPrompt, roundsAt: page.rounds });
    prompts.draw({ ...data, runs: data.rows.filter((row) => !row.isBaseline) });
  }
  $("#evidence").hidden = !findings.report.samples;
  if (page.status.is_final && !whatIf) offerWhatIf(); // below the charts: it asks once it is nearly in view
  whatIf?.draw();
}

// ---- what people do

function play() {
  moment.play();
  redraw("race");
}

$("#race").addEventListener("change", (event) => {
  if (event.target.name !== "run") return;
  view.run = Number(event.target.value);
  remember();
  redraw("race", "evidence");
});
for (const [button, step] of [["#before", -1], ["#after", 1]]) {
  $(button).addEventListener("click", () => {
    look(heats.beside(view.heat, step), false);
    remember();
  });
}
$("#follow")?.addEventListener("change", ({ target }) => {
  if (target.checked && page.is_loaded) chooseRun(known.latestRun ?? view.run);
  look(target.checked ? known.latest ?? view.heat : view.heat, target.checked);
});
$("#play").addEventListener("click", play);
$("#scrub").addEventListener("input", (event) => {
  moment.scrub(Number(event.target.value) * TENTH);
  redraw("race");
});
$("#speed").addEventListener("change", (event) => moment.hurry(Number(event.target.value)));
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
for (const event of ["resize", "afterprint"]) addEventListener(event, () => redraw("race", "evidence"));
addEventListener("remeasured", () => redraw("race"));

// ---- what arrives

const VERDICT_EVERY_MS = 1000; // it is read aloud too
const verdict = new Part("verdict", (text) => {
  $("#verdict").innerHTML = text;
  sortable($("#verdict"));
  findings.read();
  drawStanding(race.lanes, findings.report);
  renewEvidence(); // with its numbers, not with each sample: reports are the rarer the more samples there are
});
const questions = new Part("what-if", (text) => {
  $("#evidence > [data-charts]").insertAdjacentHTML("afterend", text);
  offerWhatIf();
});
const downloads = new Part("downloads", (text) => { if ($("#downloads")) $("#downloads").innerHTML = text; });

const CHANGES = { // what has to be drawn anew once a frame was heard
  events: ["race"], complete: ["race"], samples: ["race", "status"], comparison: ["status"],
};
const feed = new Feed({
  socketUrl: page.socket, pollUrl: page.poll, since: page.since, isOver: page.status.is_final,
  onFrame: (frame) => {
    known.hear(frame);
    if (frame.t === "comparison") entitle(frame); // a tab in the background is given no frames to draw in
    if (frame.t === "report" && frame.samples !== page.samples) {
      page.samples = frame.samples;
      verdict.renew(VERDICT_EVERY_MS);
    }
    if (view.isFollowing && known.latest) lookAtLatest();
    if (frame.t === "samples") {
      follow();
      offerNext();
    }
    redraw(...(CHANGES[frame.t] ?? []));
  },
  onMode: (mode, sentence) => {
    drawMode(mode, sentence, known.status.state);
    if (mode !== "finished") return;
    if (!page.status.is_final) for (const part of [verdict, downloads, ...(page.samples ? [questions] : [])]) part.renew();
    view.isFollowing = false;
    redraw("race", "status");
  },
});

drawStanding(race.lanes, findings.report);
sortable();
feed.start();
look(view.heat);
redraw("status", "evidence");

[ofText, ofAll] = await Promise.all([chartsOf($(".reading")), chartsOf($("#evidence"))]);
reading = new Reading($(".reading"), ofText, runs, page.hides_texts ? () => "▪ " : (token) => known.word(token));
addEventListener("beforeprint", () => { // what is not on the screen is on paper
  redraw("race", "evidence");
  draw(performance.now());
  for (const waiting of [lanes, text, anotherText, evidence, ofText]) waiting.now();
});
requestAnimationFrame(draw);
