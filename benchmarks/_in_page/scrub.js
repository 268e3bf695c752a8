// Move the slider to and fro, one step per frame. Returns the ms between frames, and from each frame's start until it
// was painted.
(seconds) => new Promise((resolve) => {
  const slider = document.querySelector("#scrub"), steps = 120, begun = performance.now();
  const apart = [], work = [], painted = new MessageChannel();
  let last = null, step = 0;
  painted.port1.onmessage = () => work.push(performance.now() - last);
  const frame = (now) => {
    if (last !== null) apart.push(now - last);
    last = now;
    if (now - begun > seconds * 1000) return resolve({ apart, work });
    step = (step + 1) % (2 * steps);
    slider.value = (Number(slider.max) * (step < steps ? step : 2 * steps - step)) / steps;
    slider.dispatchEvent(new Event("input"));
    painted.port2.postMessage(0);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})
