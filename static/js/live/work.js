// A page on which a job goes on: where it stands, and what its log says in numbers, for those who draw it.

import { say } from "../core/words.js";
import { Feed } from "./feed.js";
import { begin, fold } from "./log.js";
import { drawMode, drawWay } from "./way.js";

const page = JSON.parse(document.getElementById("work").textContent);
const listeners = [];

let state = page.lines.reduce(fold, begin());
let status = page.status;
const shown = state.figures; // on the page as it was read

/** Call back with the log's numbers now, and whenever there are more. */
export function onLog(listener) {
  listeners.push(listener);
  listener(state);
}

const feed = new Feed({
  socketUrl: page.socket, pollUrl: page.poll,
  onMode: (mode, sentence) => drawMode(mode, sentence, status.state),
  onFrame: (frame) => {
    if (frame.t === "job") status = frame;
    if (frame.t === "events") state = frame.events.reduce(fold, state);
    if (frame.t === "finished") return location.reload(); // what it found stands on the page as it is read now
    draw();
    for (const listener of listeners) listener(state);
  },
});

function draw() {
  drawWay(status, "", state);
  const told = document.querySelector("#more"), more = state.figures - shown; // a job's own page draws no figures
  if (!told || more <= 0) return;
  told.hidden = false;
  say(document.querySelector("#more span"), `${more}${shown ? " more" : ""} figure${more === 1 ? " is" : "s are"} drawn.`);
}

draw();
if (!status.is_final) {
  feed.follow({ [page.job]: state.seq });
  feed.start();
}
