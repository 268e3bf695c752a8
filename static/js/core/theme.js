// Runs before the first paint, so that a chosen theme does not flash. The choice stays in this browser.
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* private windows may forbid it */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* then it lasts as long as the page */ }
  });
})();
