// How far a comparison is: samples done, time left, and while nothing comes, why.

import { attempt, step } from "./log.js";
import { news } from "./tab-title.js";
import { say, span, tell } from "../core/words.js";

const WARMING = "A worker loads the models and runs every strategy for a moment before the first round counts.";
const ENDS = { succeeded: "Finished", failed: "Failed", cancelled: "Cancelled" };
const $ = (selector) => document.querySelector(selector);

/** `isBegun`: a sample has begun. */
export function drawWay(status, isBegun) {
  document.body.dataset.state = status.state;
  say($("#done"), status.total ? `${status.done} of ${status.total} samples` : "");
  $("#progress").max = status.total || 1;
  $("#progress").value = status.done || 0;
  say($("#left"), status.seconds_left && !status.step ? `about ${span(status.seconds_left)} left` : "");
  tell($("#reason"), status.state === "running" ? running(status, isBegun) : status.sentence ?? "");
  news(status);
  for (const gone of document.querySelectorAll("[data-while-running]")) gone.hidden = status.is_final;
}

/** Trouble first; then which attempt it is, if not the first; then what comes before the samples. */
const running = (status, isBegun) => [attempt(status), isBegun ? "" : WARMING, step(status)].filter(Boolean).join(" ");

/** How news come, or how it ended. */
export function drawMode(mode, sentence, state) {
  $("#mode").dataset.mode = mode;
  say($("#mode"), mode === "finished" ? ENDS[state] ?? sentence : sentence);
}
