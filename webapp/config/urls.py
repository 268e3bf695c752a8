"""Every address, in one place."""

from django.urls import include, path

from webapp.config import finding, views

urlpatterns = [
    path("", views.home, name="home"),
    path("find/", finding.find, name="find"),
    path("system/", views.system, name="system"),
    path("", include("webapp.docs.urls")),
    path("", include("webapp.accounts.urls")),
    path("", include("webapp.entries.urls")),
    path("", include("webapp.jobs.urls")),
    path("", include("webapp.uploads.urls")),
    path("", include("webapp.registry.urls")),
    path("", include("webapp.studies.urls")),
    path("", include("webapp.live.urls")),
    path("", include("webapp.sharing.urls")),
    path("", include("webapp.comparisons.urls")),
    path("api/v1/", include("webapp.config.api_urls")),
]

handler400 = "webapp.core.views.bad_request"
handler403 = "webapp.core.views.permission_denied"
handler404 = "webapp.core.views.not_found"
handler500 = "webapp.core.views.server_error"
