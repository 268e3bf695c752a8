// The page of runs: an address without empty words.

document.addEventListener("htmx:configRequest", (event) => {
  const asked = event.detail.parameters;
  for (const name of [...new Set(Object.keys(asked))]) if (asked[name] === "") delete asked[name];
});
