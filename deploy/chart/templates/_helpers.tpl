{{- define "loadaware.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "loadaware.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: extender
{{- end -}}

{{- define "loadaware.labels" -}}
{{ include "loadaware.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "loadaware.schedulerSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: second-scheduler
{{- end -}}

{{- define "loadaware.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "loadaware.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "loadaware.image" -}}
{{- $repository := required "image.repository is asked for: there is no public image; docs/install.md builds and pushes your own" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "loadaware.tls" -}}
{{- ne .Values.tls.mode "none" | ternary "yes" "" -}}
{{- end -}}

{{- define "loadaware.clientAuth" -}}
{{- and (ne .Values.tls.mode "none") .Values.tls.clientAuth | ternary "yes" "" -}}
{{- end -}}

{{- define "loadaware.scheme" -}}
{{- if include "loadaware.tls" . }}https{{ else }}http{{ end -}}
{{- end -}}

{{- define "loadaware.tlsSecret" -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- required "tls.secretName is asked for by tls.mode secret" .Values.tls.secretName -}}
{{- else -}}
{{- include "loadaware.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "loadaware.clientSecret" -}}
{{- if eq .Values.tls.mode "secret" -}}
{{- required "tls.clientSecretName is asked for by tls.mode secret with tls.clientAuth" .Values.tls.clientSecretName -}}
{{- else -}}
{{- include "loadaware.fullname" . }}-client-tls
{{- end -}}
{{- end -}}

{{- /* Names that the server's certificate must be valid for, as a YAML list. */ -}}
{{- define "loadaware.dnsNames" -}}
{{- range $name := list (include "loadaware.fullname" .) (printf "%s-headless" (include "loadaware.fullname" .)) }}
- {{ $name }}.{{ $.Release.Namespace }}.svc
- {{ $name }}.{{ $.Release.Namespace }}
- {{ $name }}
{{- end }}
- localhost
{{- end -}}

{{- define "loadaware.ipAddresses" -}}
- 127.0.0.1
{{- with .Values.service.clusterIP }}
- {{ . }}
{{- end }}
{{- end -}}

{{- /* The whole LoadAwareConfiguration: what was given, and what the chart decides. */ -}}
{{- define "loadaware.config" -}}
{{- $given := deepCopy .Values.config -}}
{{- $server := dict "port" (int .Values.port) -}}
{{- if include "loadaware.tls" . -}}
{{- $tls := dict "certFile" "/etc/loadaware-tls/tls.crt" "keyFile" "/etc/loadaware-tls/tls.key" -}}
{{- if include "loadaware.clientAuth" . -}}
{{- $_ := set $tls "clientCaFile" "/etc/loadaware-tls/ca.crt" -}}
{{- end -}}
{{- $_ := set $server "tls" $tls -}}
{{- end -}}
{{- $people := dict "port" (int .Values.people.port) -}}
{{- if eq (int .Values.people.port) (int .Values.port) -}}
{{- fail "people.port must be another than port" -}}
{{- end -}}
{{- if not .Values.people.enabled -}}
{{- $people = dict "page" false "nodes" false "explain" false "whatIf" false "shadow" false "demand" false "metrics" false -}}
{{- end -}}
{{- if .Values.people.tokenSecret -}}
{{- $_ := set $people "tokenFile" "/etc/loadaware-token/token" -}}
{{- end -}}
{{- $demand := dict -}}
{{- if .Values.demand.stateFile -}}
{{- $_ := set $demand "stateFile" "/var/lib/loadaware/demand" -}}
{{- end -}}
{{- if .Values.demand.handOver -}}
{{- $url := printf "%s://%s-headless:%d" (include "loadaware.scheme" .) (include "loadaware.fullname" .) (int .Values.port) -}}
{{- $handOver := dict "url" $url -}}
{{- if include "loadaware.tls" . -}}
{{- $_ := set $handOver "caFile" "/etc/loadaware-tls/ca.crt" -}}
{{- end -}}
{{- if include "loadaware.clientAuth" . -}}
{{- $_ := set $handOver "certFile" "/etc/loadaware-tls/tls.crt" -}}
{{- $_ := set $handOver "keyFile" "/etc/loadaware-tls/tls.key" -}}
{{- end -}}
{{- $_ := set $demand "handOver" $handOver -}}
{{- end -}}
{{- $ours := dict "apiVersion" "loadaware.io/v1alpha1" "kind" "LoadAwareConfiguration" "mode" .Values.mode "server" $server "people" $people "demand" $demand -}}
{{- if .Values.history.enabled -}}
{{- $_ := set $ours "history" (dict "folder" "/var/lib/loadaware-history" "maxSize" (include "loadaware.historySize" .)) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $given $ours) -}}
{{- end -}}

{{- /* What the history may take: four fifths of its volume. What is being merged, or was damaged, is not counted. */ -}}
{{- define "loadaware.historySize" -}}
{{- $gibibytes := mul (regexFind "^[0-9]+" .Values.history.size | int64) (hasSuffix "Ti" .Values.history.size | ternary 1024 1) -}}
{{- printf "%dMi" (div (mul $gibibytes 1024 4) 5) -}}
{{- end -}}

{{- /* Where the history is kept: "pod", "claims" (one for each replica), "claim" (one for all), or nothing. */ -}}
{{- define "loadaware.historyVolume" -}}
{{- $persistence := .Values.history.persistence -}}
{{- if and .Values.history.enabled $persistence.existingClaim (not $persistence.enabled) -}}
{{- fail "history.persistence.existingClaim asks for history.persistence.enabled" -}}
{{- end -}}
{{- if .Values.history.enabled -}}
{{- $persistence.enabled | ternary ($persistence.existingClaim | empty | ternary "claims" "claim") "pod" -}}
{{- end -}}
{{- end -}}

{{- /* Claims for each replica, or a folder for each in one: "yes" (a StatefulSet, whose pods keep their names) or nothing. */ -}}
{{- define "loadaware.stateful" -}}
{{- or (and .Values.demand.stateFile .Values.demand.persistence.enabled) (hasPrefix "claim" (include "loadaware.historyVolume" .)) | ternary "yes" "" -}}
{{- end -}}

{{- /* A duration of the configuration, such as 2m30s, in whole seconds. */ -}}
{{- define "loadaware.seconds" -}}
{{- $units := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h|d)" . -1 -}}
{{- $sum = addf $sum (mulf (regexFind "[0-9.]+" . | float64) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- ceil $sum | int -}}
{{- end -}}

{{- define "loadaware.preStopSeconds" -}}5{{- end -}}

{{- /* How long the kubelet must wait for our end: the hook, then leaving, then requests under way, and a while to save. */ -}}
{{- define "loadaware.graceSeconds" -}}
{{- $server := .Values.config.server | default dict -}}
{{- $leaving := include "loadaware.seconds" (get $server "leaving" | default "5s") | int -}}
{{- $drain := include "loadaware.seconds" (get $server "drain" | default "10s") | int -}}
{{- add (include "loadaware.preStopSeconds" . | int) $leaving $drain 15 -}}
{{- end -}}

{{- /* What changes only with a restart, as a fingerprint. */ -}}
{{- define "loadaware.restartKey" -}}
{{- $config := include "loadaware.config" . | fromYaml -}}
{{- dict "server" $config.server "people" $config.people "history" (get $config "history") "log" (get $config "log") "tls" .Values.tls | toJson | sha256sum | trunc 16 -}}
{{- end -}}

{{- /* Whether metrics.k8s.io is read: "yes" or nothing. */ -}}
{{- define "loadaware.readsMetricsApi" -}}
{{- $first := .Values.config.source | default dict -}}
{{- $second := .Values.config.secondSource | default dict -}}
{{- or (eq (get $first "type" | default "MetricsServer") "MetricsServer") (eq (get $second "type" | default "") "MetricsServer") | ternary "yes" "" -}}
{{- end -}}

{{- define "loadaware.filters" -}}
{{- range .Values.config.profiles }}{{ if and .filters (not .shadow) }}yes{{ end }}{{ end -}}
{{- end -}}

{{- /* Us, as kube-scheduler is told: root, url, folder (where certificates are), serverName (if the url has none). */ -}}
{{- define "loadaware.extender" -}}
{{- $root := .root -}}
urlPrefix: {{ .url }}
{{- if include "loadaware.filters" $root }}
filterVerb: filter
{{- end }}
prioritizeVerb: prioritize
{{- if $root.Values.extender.preempt }}
preemptVerb: preempt
{{- end }}
{{- if $root.Values.extender.bind }}
bindVerb: bind
{{- end }}
weight: 1
nodeCacheCapable: true
ignorable: true
httpTimeout: {{ $root.Values.extender.httpTimeout }}
enableHTTPS: {{ not (empty (include "loadaware.tls" $root)) }}
{{- if include "loadaware.tls" $root }}
tlsConfig:
  caFile: {{ .folder }}/ca.crt
  {{- with .serverName }}
  serverName: {{ . }}
  {{- end }}
  {{- if include "loadaware.clientAuth" $root }}
  certFile: {{ .folder }}/tls.crt
  keyFile: {{ .folder }}/tls.key
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Profiles of the cluster's own kube-scheduler: ours, and always the one that every plain pod names. */ -}}
{{- define "loadaware.schedulerNames" -}}
{{- $names := list -}}
{{- range .Values.config.profiles | default (list (dict)) -}}
{{- if not .shadow -}}
{{- $names = append $names (.schedulerName | default "default-scheduler") -}}
{{- end -}}
{{- end -}}
{{- if not (has "default-scheduler" $names) -}}
{{- $names = prepend $names "default-scheduler" -}}
{{- end -}}
{{- range $number, $name := $names }}
{{- if $number }}{{ "\n" }}{{ end -}}
- schedulerName: {{ $name }}
{{- end }}
{{- end -}}

{{- define "loadaware.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "loadaware.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- /* The cluster's version, without what a provider adds to it: v1.36.1-gke.3 and v1.36.1+k3s1 are v1.36.1. */ -}}
{{- define "loadaware.clusterVersion" -}}
{{- $version := semver .Capabilities.KubeVersion.Version -}}
v{{ $version.Major }}.{{ $version.Minor }}.{{ $version.Patch }}
{{- end -}}

{{- /* How doctor finds us in our own pod. Whether a certificate of yours has a name for that, the chart cannot know. */ -}}
{{- define "loadaware.doctorOptions" -}}
{{- if and .Values.people.enabled (ne .Values.tls.mode "secret") }} --server {{ include "loadaware.scheme" . }}://127.0.0.1:{{ .Values.people.port }}
{{- if include "loadaware.tls" . }} --ca-file /etc/loadaware-tls/ca.crt{{ end -}}
{{- if include "loadaware.clientAuth" . }} --cert-file /etc/loadaware-tls/tls.crt --key-file /etc/loadaware-tls/tls.key{{ end -}}
{{- end -}}
{{- end -}}

{{- define "loadaware.secondSchedulerConfig" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceName: {{ .name }}
  resourceNamespace: {{ .root.Release.Namespace }}
profiles:
  {{- range .root.Values.secondScheduler.schedulerNames }}
  - schedulerName: {{ . }}
  {{- end }}
extenders:
  - {{ include "loadaware.extender" (dict "root" .root "url" .url "folder" "/etc/loadaware-tls") | nindent 4 | trim }}
{{- end -}}

{{- define "loadaware.defaultSchedulerConfig" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
leaderElection:
  leaderElect: true
profiles:
  {{- include "loadaware.schedulerNames" . | nindent 2 }}
extenders:
  - {{ include "loadaware.extender" (dict "root" . "url" (printf "%s://%s:%d" (include "loadaware.scheme" .) (.Values.service.clusterIP | default "CLUSTER-IP") (int .Values.port)) "folder" "/etc/kubernetes/loadaware" "serverName" (printf "%s.%s.svc" (include "loadaware.fullname" .) .Release.Namespace)) | nindent 4 | trim }}
{{- end -}}
