from django.urls import path

from webapp.accounts import views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("enter/<str:secret>/", views.enter, name="enter"),
    path("join/<str:secret>/", views.join, name="join"),
    path("account/", views.account, name="account"),
    path("account/name/", views.change_name, name="change-name"),
    path("users/", views.users, name="users"),
    path("users/<uuid:id>/deactivate/", views.set_active, {"is_active": False}, name="deactivate"),
    path("users/<uuid:id>/reactivate/", views.set_active, {"is_active": True}, name="reactivate"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<uuid:id>/revoke/", views.revoke_token, name="revoke-token"),
    path("team/", views.team, name="team"),
    path("team/new/", views.new_team, name="new-team"),
    path("team/audit/", views.audit_log, name="audit"),
    path("team/<uuid:id>/switch/", views.switch_team, name="switch-team"),
    path("team/<uuid:id>/hub-token/", views.set_hub_token, name="set-hub-token"),
    path("team/members/<uuid:id>/role/", views.change_role, name="change-role"),
    path("team/members/<uuid:id>/remove/", views.remove_member, name="remove-member"),
    path("team/invitations/<uuid:id>/revoke/", views.revoke_invitation, name="revoke-invitation"),
]
