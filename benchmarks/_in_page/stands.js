// Run before the page's own scripts: note when race, text and evidence were first on the screen, in ms since the request.
addEventListener("DOMContentLoaded", () => {
  const wanted = ["#race .tokens[d^=M]", "#strip .round", "#rounds [data-round]", "#forest .interval", "#positions .line"];
  const painted = new MessageChannel();
  painted.port1.onmessage = () => { window.stands ??= performance.now(); };
  const observer = new MutationObserver(() => {
    if (!wanted.every((each) => document.querySelector(each))) return;
    observer.disconnect();
    requestAnimationFrame(() => painted.port2.postMessage(0));
  });
  observer.observe(document.querySelector("article"), { childList: true, subtree: true });
});
