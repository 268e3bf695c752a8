// How far a job is, and how news of it come: the part of a page in `jobs/_way.html`, and the button that cancels the job.

import { inWords } from "./log.js";
import { news } from "./tab-title.js";
import { say, tell } from "../core/words.js";

const ENDS = { succeeded: "Finished", failed: "Failed", cancelled: "Cancelled" };
const $ = (selector) => document.querySelector(selector);

/** `note`: what else to know while it runs; `log`: what its log adds up to, if that says more. */
export function drawWay(status, note, log) {
  const { bar, reason, ...words } = inWords(status, log);
  for (const [part, text] of Object.entries(words)) say($(`#${part}`), text);
  Object.assign($("#progress"), bar);
  tell($("#reason"), status.state === "running" ? [reason, note].filter(Boolean).join(" ") : reason);
  news(status);
  for (const gone of document.querySelectorAll("[data-while-running]")) gone.hidden = status.is_final;
}

/** How news come, or how it ended. */
export function drawMode(mode, sentence, state) {
  $("#mode").dataset.mode = mode;
  say($("#mode"), mode === "finished" ? ENDS[state] ?? sentence : sentence);
}

$("form[data-while-running]")?.addEventListener("submit", async (event) => {
  event.preventDefault(); // stay here and watch it end
  const form = event.target, button = form.querySelector("button");
  const name = button.textContent;
  button.disabled = true;
  button.textContent = "Cancelling";
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
    if (!answer.ok) form.submit(); // the page it leads to says why not
  } catch { // no network: to be tried again by whoever asked
    button.disabled = false;
    button.textContent = name;
  }
});
