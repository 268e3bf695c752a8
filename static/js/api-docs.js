// Swagger UI on our own schema; requests carry the session's CSRF token.
const place = document.getElementById("api");
const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  docExpansion: "none",
  validatorUrl: null,
  requestInterceptor: (request) => { request.headers["X-CSRFToken"] = token; return request; },
});
