// How far a job is, and how news of it come: the part of a page in `jobs/_way.html`, the tab's title, and the button that
// cancels the job.

import { inWords } from "./log.js";
import { say, tell } from "../core/words.js";

const ENDS = { succeeded: "Finished", failed: "Failed", cancelled: "Cancelled" };
const MARKS = { succeeded: "✓ ", failed: "✗ ", cancelled: "" };
const title = document.title, key = `ended ${location.pathname}`; // a page may be read anew when its job ends
let isNews = false; // a page that opens on a finished job has none
const $ = (selector) => document.querySelector(selector);

/** `note`: what else to know while it runs; `log`: what its log adds up to, if that says more. */
export function drawWay(status, note, log) {
  const { bar, reason, ...words } = inWords(status, log);
  for (const [part, text] of Object.entries(words)) say($(`#${part}`), text);
  Object.assign($("#progress"), bar);
  tell($("#reason"), status.state === "running" ? [reason, note].filter(Boolean).join(" ") : reason);
  entitle(status);
  for (const gone of document.querySelectorAll("[data-while-running]")) gone.hidden = status.is_final;
}

/** Tell in the tab's title, for those who look at another one, how far the job is or how it ended. */
export function entitle({ is_final: isFinal, state, total, done }) {
  if (isFinal && isNews) sessionStorage.setItem(key, MARKS[state] ?? "");
  const share = state === "running" && total && done ? `${Math.floor((100 * done) / total)} % · ` : "";
  document.title = `${isFinal ? sessionStorage.getItem(key) ?? "" : share}${title}`;
  isNews = !isFinal;
  if (!document.hidden) sessionStorage.removeItem(key);
}

document.addEventListener("visibilitychange", () => sessionStorage.removeItem(key)); // somebody looks

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
