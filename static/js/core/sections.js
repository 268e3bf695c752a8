// Links to the sections of a page. They scroll, and leave the part of the address after # to the page, which keeps there what
// is looked at.

document.querySelector("nav.sections")?.addEventListener("click", (event) => {
  const to = event.target.getAttribute("href");
  if (!to) return;
  event.preventDefault();
  document.querySelector(to).scrollIntoView({ block: "start" });
});
