{{- /* The number of the group, and of the user, that may read from the daemon. */}}
{{- define "cardcage.web.group" }}65532{{ end }}

{{- /* The folder of the read-only socket, on the node and in both pods. */}}
{{- define "cardcage.web.folder" }}/run/cardcage/view{{ end }}

{{- /* The socket that the page calls: it takes commands only where they are allowed. */}}
{{- define "cardcage.web.socket" -}}
{{ ternary "/run/cardcage/admin.sock" (printf "%s/admin.sock" (include "cardcage.web.folder" .)) .Values.web.allowActions }}
{{- end }}

{{- define "cardcage.web.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cardcage.name" . }}-web
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
