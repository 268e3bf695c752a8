// The button that cancels what runs: the page stays and watches it end.

document.querySelector("form[data-while-running]")?.addEventListener("submit", async (event) => {
  event.preventDefault(); // stay here and watch it end
  const form = event.target, button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
    if (!answer.ok) form.submit(); // the page it leads to says why not
  } catch { // no network: to be tried again by whoever asked
    button.disabled = false;
  }
});
