// A page on which a job goes on: where it stands, as it is told; and what its log says in numbers, for those who draw it.

import { say, tell } from "../core/words.js";
import { Feed } from "./feed.js";
import { attempt, begin, counted, fold, inWords } from "./log.js";
import { news } from "./tab-title.js";

const page = JSON.parse(document.getElementById("work").textContent);
const place = (name) => document.querySelector(`[data-work-${name}]`);
const listeners = [];

let state = page.lines.reduce(fold, begin());
let status = page.status;
const shown = state.figures; // on the page as it was read

/** Call back with the log's numbers now, and whenever there are more. */
export function onLog(listener) {
  listeners.push(listener);
  listener(state);
}

const feed = page.status.is_final ? null : new Feed({
  socketUrl: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${page.socket}`,
  pollUrl: page.poll,
  onMode: (mode, sentence) => {
    const told = place("mode");
    told.dataset.mode = mode;
    told.textContent = mode === "finished" ? "" : sentence;
    if (mode === "finished") delete told.dataset.mode;
  },
  onFrame: (frame) => {
    if (frame.t === "job") status = frame;
    if (frame.t === "events") state = frame.events.reduce(fold, state);
    if (frame.t === "finished") return location.reload(); // what it found stands on the page as it is read now
    draw();
    for (const listener of listeners) listener(state);
  },
});

function draw() {
  news(status);
  if (status.is_final) return;
  const words = inWords(state, status);
  place("phase").textContent = words.phase;
  place("count").textContent = words.count;
  place("left").textContent = words.left;
  tell(place("reason"), status.state === "running" ? attempt(status) : status.sentence);
  const more = state.figures - shown;
  if (more > 0) {
    place("more").hidden = false;
    say(place("more-count"), `${more}${shown ? " more" : ""} figure${more === 1 ? " is" : "s are"} drawn.`);
  }
  const bar = place("bar");
  const { done, total } = counted(status);
  bar.max = Math.max(1, total);
  bar.value = done;
}

document.querySelector("[data-cancel]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  event.submitter.disabled = true;
  event.submitter.textContent = "Cancelling";
  await fetch(event.target.action, { method: "POST", body: new FormData(event.target), redirect: "manual" });
});

draw();
feed?.follow({ [page.job]: state.seq });
feed?.start();
