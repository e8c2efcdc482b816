// A scheduler extender as one writes it in Go without further thought: net/http, encoding/json, the official types,
// and a ready table as score. It is what loadaware's own wire is measured against (tests/benchmarks/measure_wire.py).
//
//	go-extender -listen 127.0.0.1:8080 -nodes 5000 [-cert tls.crt -key tls.key]
//	go-extender -listen 127.0.0.1:8080 -echo    reads a request and answers with as many bytes as X-Answer says
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"

	extender "k8s.io/kube-scheduler/extender/v1"
)

type table map[string]int64

func newTable(nodes int) table {
	scores := make(table, nodes)
	for n := range nodes {
		scores[fmt.Sprintf("worker-%05d.zone-%d.cluster.internal", n, n%3)] = int64(n % 31)
	}
	return scores
}

func namesOf(arguments *extender.ExtenderArgs) []string {
	if arguments.NodeNames != nil {
		return *arguments.NodeNames
	}
	if arguments.Nodes == nil {
		return nil
	}
	names := make([]string, 0, len(arguments.Nodes.Items))
	for n := range arguments.Nodes.Items {
		names = append(names, arguments.Nodes.Items[n].Name)
	}
	return names
}

func (scores table) prioritize(arguments *extender.ExtenderArgs) any {
	names := namesOf(arguments)
	answer := make(extender.HostPriorityList, 0, len(names))
	for _, name := range names {
		answer = append(answer, extender.HostPriority{Host: name, Score: scores[name]})
	}
	return answer
}

func (scores table) filter(arguments *extender.ExtenderArgs) any {
	return &extender.ExtenderFilterResult{
		Nodes:                      arguments.Nodes,
		NodeNames:                  arguments.NodeNames,
		FailedNodes:                extender.FailedNodesMap{},
		FailedAndUnresolvableNodes: extender.FailedNodesMap{},
	}
}

func answering(work func(*extender.ExtenderArgs) any) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		var arguments extender.ExtenderArgs
		if err := json.NewDecoder(request.Body).Decode(&arguments); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(writer).Encode(work(&arguments)); err != nil {
			log.Print(err)
		}
	}
}

func echo(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReaderSize(connection, 1<<18)
	for {
		length, wanted := 0, 0
		for {
			line, err := reader.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
			length = headerOr(line, "content-length:", length)
			wanted = headerOr(line, "x-answer:", wanted)
		}
		if _, err := io.CopyN(io.Discard, reader, int64(length)); err != nil {
			return
		}
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", wanted)
		if _, err := connection.Write(append(head, make([]byte, wanted)...)); err != nil {
			return
		}
	}
}

func headerOr(line []byte, name string, otherwise int) int {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return otherwise
	}
	number, err := strconv.Atoi(string(bytes.TrimSpace(line[len(name):])))
	if err != nil {
		return otherwise
	}
	return number
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	nodes := flag.Int("nodes", 5000, "nodes in the table")
	certificate := flag.String("cert", "", "certificate, for HTTPS")
	key := flag.String("key", "", "its key")
	echoing := flag.Bool("echo", false, "read and answer, and nothing else")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if *echoing {
		for {
			connection, err := listener.Accept()
			if err != nil {
				log.Fatal(err)
			}
			go echo(connection)
		}
	}
	scores := newTable(*nodes)
	http.HandleFunc("POST /filter", answering(scores.filter))
	http.HandleFunc("POST /prioritize", answering(scores.prioritize))
	if *certificate != "" {
		log.Fatal(http.ServeTLS(listener, nil, *certificate, *key))
	}
	log.Fatal(http.Serve(listener, nil))
}
