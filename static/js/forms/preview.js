// Keeps what a form shows about itself true while somebody fills it in: its plan, its request as code, and choices that
// depend on other fields. The server reads the form as it stands and draws these parts anew; nothing is done yet.

const SETTLE_MS = 250;
const TAKES = "form[data-api]";
const waiting = new WeakMap(); // form → the newest reading of it

/** Reads the form again; a copy waits for it. */
export function reread(form, after = 0) {
  waiting.get(form)?.abort.abort();
  const abort = new AbortController();
  const done = new Promise((resolve) => setTimeout(resolve, after)).then(() => read(form, abort.signal));
  waiting.set(form, { abort, done });
  return done;
}

async function read(form, signal) {
  if (signal.aborted) return;
  const sent = body(form);
  const page = await described(form, sent, signal);
  if (!page || signal.aborted) return;
  const found = [...page.querySelectorAll(TAKES)].find((one) => one.dataset.api === form.dataset.api);
  if (!found) return;
  for (const part of form.querySelectorAll("[data-part]")) {
    const now = found.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    if (now && now.innerHTML !== part.innerHTML) part.innerHTML = now.innerHTML;
  }
  if (body(form) !== sent) await read(form, signal); // a choice went away with the thing that it depended on
}

/** The page with the form as it stands; null if a later reading took its place, or the server is away. */
async function described(form, sent, signal) {
  try {
    const answer = await fetch(form.getAttribute("action") || location.href, { method: "POST", body: `${sent}&describe=1`, signal,
      headers: { "Content-Type": "application/x-www-form-urlencoded" } });
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  } catch { return null; }
}

/** What the browser would send, and which parts are unfolded. */
function body(form) {
  const sent = new URLSearchParams(new FormData(form));
  for (const fold of form.querySelectorAll("details[data-fold][open]")) sent.append("unfolded", fold.dataset.fold);
  return sent.toString();
}

const isShown = (form) => form.querySelector('[data-part="plan"], [data-part="preview"], details.code[open]') !== null;
const depends = (target) => target.tagName === "SELECT";

document.addEventListener("input", ({ target }) => {
  const form = target.closest(TAKES);
  if (form && (isShown(form) || depends(target))) reread(form, SETTLE_MS);
});

document.addEventListener("toggle", ({ target }) => {
  if (target.matches("details.code[open]") && target.closest(TAKES)) reread(target.closest(TAKES));
}, true); // it does not bubble

document.addEventListener("submit", ({ target }) => {
  for (const fold of target.querySelectorAll("details[data-fold][open]")) {
    const kept = Object.assign(document.createElement("input"), { type: "hidden", name: "unfolded", value: fold.dataset.fold });
    target.append(kept);
  }
});

document.addEventListener("click", async ({ target }) => {
  const copy = target.closest("[data-copy-code]");
  if (!copy) return;
  const form = copy.closest(TAKES);
  copy.textContent = "Copy";
  if (form) await reread(form);
  await navigator.clipboard.writeText(copy.closest(".sample").querySelector("pre").textContent);
  copy.textContent = "Copied";
});

for (const form of document.querySelectorAll(TAKES)) if (isShown(form)) reread(form); // a browser may have restored other values
