// Swagger UI on our own schema, light or dark as the page is; requests carry the session's CSRF token.
const place = document.getElementById("api");
const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
const root = document.documentElement, prefers = matchMedia("(prefers-color-scheme: dark)");

function follow() {
  root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches);
}
follow();
prefers.addEventListener("change", follow);
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  docExpansion: "none",
  validatorUrl: null,
  requestInterceptor: (request) => { request.headers["X-CSRFToken"] = token; return request; },
});
