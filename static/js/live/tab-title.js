// Tells somebody who looks elsewhere how a run goes: in the tab's title, and in a notification if they asked for one.

const ENDS = { succeeded: "Finished", failed: "Failed", cancelled: "Cancelled" };
const MARKS = { succeeded: "✓ ", failed: "✗ ", cancelled: "" };
const own = document.title, key = `ended ${location.pathname}`;
const button = document.querySelector("[data-notify]");
let isTold = true; // a page that opens on a finished run has no news

const canAsk = () => "Notification" in window && Notification.permission === "default";

/** Each state of the run, as it comes. */
export function news(status) {
  if (button) button.hidden = status.is_final || !canAsk();
  if (!status.is_final) {
    isTold = false;
    const share = status.total && status.done ? `${Math.floor((100 * status.done) / status.total)} % · ` : "";
    document.title = status.state === "running" ? `${share}${own}` : own;
  } else if (!isTold) {
    isTold = true;
    tell(status.state);
  }
}

function tell(state) {
  mark(state);
  sessionStorage.setItem(key, state); // the page may be read anew
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const told = new Notification(own.split(" · ")[0], { body: ENDS[state] ?? state, tag: location.pathname });
  told.onclick = () => { window.focus(); told.close(); };
}

function mark(state) {
  document.title = `${MARKS[state] ?? ""}${own}`;
  if (!document.hidden) sessionStorage.removeItem(key);
}

button?.addEventListener("click", async () => {
  const answer = await Notification.requestPermission();
  button.hidden = answer !== "default";
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) sessionStorage.removeItem(key);
});
const ended = sessionStorage.getItem(key);
if (ended) mark(ended);
