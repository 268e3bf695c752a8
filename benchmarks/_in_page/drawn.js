// Note when a lane's token count was on the screen: rows of heat, run, tokens, time.
() => {
  window.drawn = [];
  const waiting = [], painted = new MessageChannel(); // a task that is posted in a frame runs once it is painted
  painted.port1.onmessage = () => {
    for (const row of waiting.splice(0)) drawn.push([...row, performance.now()]);
  };
  for (const lane of document.querySelectorAll("[data-lane]")) {
    const place = lane.querySelector("[data-number=tokens]");
    new MutationObserver(() => {
      const heat = Number(document.querySelector("#heat").textContent.split(" ")[1]);
      waiting.push([heat, Number(lane.dataset.lane), Number(place.textContent.replace(/\D/g, ""))]);
      painted.port2.postMessage(0);
    }).observe(place, { childList: true, characterData: true, subtree: true });
  }
}
