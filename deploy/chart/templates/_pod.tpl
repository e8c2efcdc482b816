{{- /* The pod, of a Deployment or of a StatefulSet. */ -}}
{{- define "loadaware.probe" -}}
{{- if include "loadaware.clientAuth" .root -}}
tcpSocket:
  port: extender
{{- else -}}
httpGet:
  path: {{ .path }}
  port: extender
  scheme: {{ include "loadaware.scheme" .root | upper }}
{{- end -}}
{{- end -}}

{{- /* A claim for each replica: name, class (empty: the default), size. */ -}}
{{- define "loadaware.claim" -}}
- metadata:
    name: {{ .name }}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .class }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests:
        storage: {{ .size }}
{{- end -}}

{{- define "loadaware.pod" -}}
metadata:
  labels:
    {{- include "loadaware.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Changes with what is taken at start only; the rest of the configuration is taken while it runs.
    loadaware.io/restart-key: {{ include "loadaware.restartKey" . }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "loadaware.serviceAccount" . }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "loadaware.graceSeconds" . }}
  securityContext:
    {{- include "loadaware.podSecurityContext" . | nindent 4 }}
  containers:
    - name: loadaware
      image: {{ include "loadaware.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        - name: LOADAWARE_CONFIG
          value: /etc/loadaware/config.yaml
        {{- if eq (include "loadaware.historyVolume" .) "claim" }}
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- end }}
        {{- with .Values.people.tokenSecret }}
        - name: LOADAWARE_TOKEN # for `loadaware doctor` and its like in this pod
          valueFrom:
            secretKeyRef:
              name: {{ . }}
              key: token
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: extender
          containerPort: {{ .Values.port }}
        {{- if .Values.people.enabled }}
        - name: people
          containerPort: {{ .Values.people.port }}
        {{- end }}
      startupProbe:
        {{- include "loadaware.probe" (dict "root" . "path" "/healthz") | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        {{- include "loadaware.probe" (dict "root" . "path" "/healthz") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        {{- include "loadaware.probe" (dict "root" . "path" "/readyz") | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 3
      lifecycle:
        preStop:
          sleep:
            seconds: {{ include "loadaware.preStopSeconds" . }} # until nobody is sent here any more
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- include "loadaware.securityContext" . | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/loadaware # the folder, not the file: only so do changes arrive
          readOnly: true
        - name: tmp
          mountPath: /tmp
        {{- if .Values.demand.stateFile }}
        - name: state
          mountPath: /var/lib/loadaware
        {{- end }}
        {{- if .Values.history.enabled }}
        - name: history
          mountPath: /var/lib/loadaware-history
          {{- if eq (include "loadaware.historyVolume" .) "claim" }}
          subPathExpr: $(POD_NAME) # a history has one writer
          {{- end }}
        {{- end }}
        {{- if include "loadaware.tls" . }}
        - name: tls
          mountPath: /etc/loadaware-tls
          readOnly: true
        {{- end }}
        {{- if .Values.people.tokenSecret }}
        - name: token
          mountPath: /etc/loadaware-token
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "loadaware.fullname" . }}
    - name: tmp
      emptyDir: {}
    {{- if and .Values.demand.stateFile (not .Values.demand.persistence.enabled) }}
    - name: state
      emptyDir: {}
    {{- end }}
    {{- if eq (include "loadaware.historyVolume" .) "pod" }}
    - name: history
      emptyDir:
        sizeLimit: {{ .Values.history.size }}
    {{- else if eq (include "loadaware.historyVolume" .) "claim" }}
    - name: history
      persistentVolumeClaim:
        claimName: {{ .Values.history.persistence.existingClaim }}
    {{- end }}
    {{- if include "loadaware.tls" . }}
    - name: tls
      secret:
        secretName: {{ include "loadaware.tlsSecret" . }}
    {{- end }}
    {{- with .Values.people.tokenSecret }}
    - name: token
      secret:
        secretName: {{ . }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if .Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "loadaware.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
