// The compatibility contracts with the stubs of protoc-gen-go, against a real server whose processes are killed.
package compat

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	realtime "compat/stubs/realtime"
	text "compat/stubs/text"
)

var root = os.Getenv("MILLRACE_ROOT")
var server *Server

// Server is a supervised server: its router and its workers can be killed.
type Server struct {
	command *exec.Cmd
	mutex   sync.Mutex
	records []map[string]any
	address string
	http    string
}

func startServer(models ...string) (*Server, error) {
	repository, err := os.MkdirTemp("", "compat-go")
	if err != nil {
		return nil, err
	}
	for _, model := range models {
		if err := os.Symlink(filepath.Join(root, "models", model), filepath.Join(repository, model)); err != nil {
			return nil, err
		}
	}
	one := &Server{command: exec.Command("node", "packages/millrace/bin/millrace.js", "serve", repository,
		"--http-port", "0", "--grpc-port", "0", "--metrics-port", "0", "--log-level", "debug")}
	one.command.Dir = root
	output, err := one.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := one.command.Start(); err != nil {
		return nil, err
	}
	listening := make(chan map[string]any, 1)
	go func() {
		lines := bufio.NewScanner(output)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			record := map[string]any{}
			if json.Unmarshal(lines.Bytes(), &record) != nil {
				continue
			}
			one.mutex.Lock()
			one.records = append(one.records, record)
			one.mutex.Unlock()
			if record["message"] == "listening" {
				select {
				case listening <- record:
				default:
				}
			}
		}
		os.RemoveAll(repository)
	}()
	select {
	case record := <-listening:
		one.address = strings.TrimPrefix(record["grpcUrl"].(string), "http://")
		one.http = record["httpUrl"].(string)
	case <-time.After(time.Minute):
		return nil, errors.New("the server did not listen within a minute")
	}
	return one, one.waitUntilReady()
}

func (server *Server) waitUntilReady() error {
	for range 600 {
		if answer, err := http.Get(server.http + "/v2/health/ready"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == 200 {
				return nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the models were not ready within a minute")
}

// pids of the records with this message, of the router that serves now.
func (server *Server) pids(message string) []int {
	server.mutex.Lock()
	defer server.mutex.Unlock()
	found := []int{}
	for _, record := range server.records {
		if record["message"] == "listening" {
			found = found[:0]
		}
		if record["message"] == message {
			found = append(found, int(record["pid"].(float64)))
		}
	}
	return found
}

func (server *Server) killRouter() {
	for _, pid := range server.pids("listening") {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (server *Server) killWorkers() {
	for _, pid := range server.pids("worker ready") {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestMain(main *testing.M) {
	started, err := startServer("storyteller", "listener_tensors", "sentiment", "sentiment_tensors")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server = started
	code := main.Run()
	server.command.Process.Signal(syscall.SIGTERM)
	if err := server.command.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "the server ended badly:", err)
		code = 1
	}
	os.Exit(code)
}

func connect(test *testing.T) *grpc.ClientConn {
	connection, err := grpc.NewClient(server.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		test.Fatal(err)
	}
	test.Cleanup(func() { connection.Close() })
	return connection
}

func newID(test *testing.T) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(test.Name(), "/", "-"), time.Now().UnixNano())
}

const parameters = `{"max_tokens":30,"temperature":1,"seed":7}`

// A run of StreamInfer to the end of its call; `seen` is called with every response, and cuts the call by returning false.
func infer(test *testing.T, fields []string, requests []*text.InferRequest, seen func(*text.InferResponse) bool) error {
	connection := connect(test)
	defer connection.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), fields...)
	call, err := text.NewInferenceServiceClient(connection).StreamInfer(ctx)
	if err != nil {
		return err
	}
	for _, request := range requests {
		if err := call.Send(request); err != nil {
			break
		}
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	for {
		response, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !seen(response) {
			return nil
		}
	}
}

func prompt(stream string, sequence uint32) []*text.InferRequest {
	return []*text.InferRequest{
		{StreamId: stream, Sequence: sequence, InputText: "Once upon a time, "},
		{StreamId: stream, Sequence: sequence, InputText: "there was a little girl", EndOfPrompt: true},
	}
}

type token struct {
	Sequence uint32
	Token    string
	End      bool
}

func undisturbed(test *testing.T) []token {
	if err := server.waitUntilReady(); err != nil {
		test.Fatal(err)
	}
	all := []token{}
	err := infer(test, []string{"millrace-parameters", parameters}, prompt(newID(test), 0), func(one *text.InferResponse) bool {
		all = append(all, token{one.Sequence, one.Token, one.EndOfStream})
		return true
	})
	if err != nil || len(all) < 30 || !all[len(all)-1].End {
		test.Fatalf("the undisturbed run ended with %v after %v", err, all)
	}
	return all
}

func TestStreamInferSurvivesACutAWorkerAndARouter(test *testing.T) {
	expected := undisturbed(test)
	stream := newID(test)
	disturbances := map[int]func() bool{
		4:  func() bool { return false },
		10: func() bool { server.killWorkers(); return true },
		20: func() bool { server.killRouter(); return true },
	}
	seen := []token{}
	for len(seen) == 0 || !seen[len(seen)-1].End {
		// The first call brings the prompt; later ones only say what was seen.
		requests := prompt(stream, 0)
		fields := []string{"millrace-parameters", parameters}
		if len(seen) > 0 {
			requests = []*text.InferRequest{{StreamId: stream, Sequence: uint32(len(seen))}}
			fields = nil
		}
		err := infer(test, fields, requests, func(one *text.InferResponse) bool {
			seen = append(seen, token{one.Sequence, one.Token, one.EndOfStream})
			disturb := disturbances[len(seen)]
			delete(disturbances, len(seen))
			return disturb == nil || disturb()
		})
		if err != nil && status.Code(err) != codes.Unavailable {
			test.Fatal(err)
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
	if len(disturbances) > 0 || !reflect.DeepEqual(seen, expected) {
		test.Fatalf("left %v; got %v, expected %v", disturbances, seen, expected)
	}
}

func TestStreamInferRefusals(test *testing.T) {
	for name, one := range map[string]struct {
		fields   []string
		requests []*text.InferRequest
		code     codes.Code
		message  string
	}{
		"an unknown model":   {[]string{"millrace-context", "nobody"}, prompt("a", 0), codes.NotFound, "nobody"},
		"no message":         {nil, nil, codes.InvalidArgument, "the call has no message"},
		"an unknown stream":  {nil, prompt("a-stream-nobody-opened", 3), codes.NotFound, "there is no stream"},
		"an unknown version": {[]string{"millrace-protocol-versions", "V5"}, prompt("a", 0), codes.Unimplemented, "speaks version 'V5'"},
		"an empty prompt":    {nil, []*text.InferRequest{{StreamId: "empty-1", EndOfPrompt: true}}, codes.InvalidArgument, "the prompt is empty"},
		"half a prompt":      {nil, prompt("half-1", 0)[:1], codes.InvalidArgument, "set end_of_prompt in the last"},
	} {
		test.Run(name, func(test *testing.T) {
			err := infer(test, one.fields, one.requests, func(*text.InferResponse) bool { return true })
			if status.Code(err) != one.code || !strings.Contains(status.Convert(err).Message(), one.message) {
				test.Fatal(err)
			}
		})
	}
}

type result struct {
	Commands []float64
	Label    any
	Millrace struct {
		Sequence      int `json:"sequence"`
		InputSequence int `json:"input_sequence"`
	} `json:"millrace"`
	Probabilities map[string]float64
}

const frames = 24

func frame(number int) []byte {
	bytes := make([]byte, 0, 1280)
	for sample := range 320 {
		value := float32(math.Sin(float64(sample*number) / 25))
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(value))
	}
	return bytes
}

// A call of PredictStream with the frames after those that were answered.
func predict(test *testing.T, stream string, answered int, seen func(result) bool) error {
	connection := connect(test)
	defer connection.Close()
	call, err := realtime.NewInferenceServiceClient(connection).PredictStream(context.Background())
	if err != nil {
		return err
	}
	for number := answered + 1; number <= frames; number++ {
		fields := map[string]string{"stream-id": stream, "sequence": fmt.Sprint(answered), "input-sequence": fmt.Sprint(number)}
		request := &realtime.InferenceRequest{Version: realtime.ProtocolVersion_V2, Payload: frame(number), Metadata: fields, EndOfStream: number == frames}
		if answered == 0 {
			request.ContextId = "listener_tensors"
		}
		if call.Send(request) != nil {
			break
		}
	}
	for {
		response, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if response.ErrorMessage != "" {
			continue
		}
		one := result{}
		if err := json.Unmarshal([]byte(response.ResultJson), &one); err != nil {
			return err
		}
		if !seen(one) {
			return nil
		}
	}
}

func TestPredictStreamSurvivesACutAWorkerAndARouter(test *testing.T) {
	if err := server.waitUntilReady(); err != nil {
		test.Fatal(err)
	}
	expected := []result{}
	if err := predict(test, newID(test), 0, func(one result) bool { expected = append(expected, one); return true }); err != nil {
		test.Fatal(err)
	}
	if len(expected) != frames || len(expected[0].Probabilities) != 13 || expected[frames-1].Millrace.Sequence != frames {
		test.Fatal(expected)
	}
	stream := newID(test)
	disturbances := map[int]func() bool{
		4:  func() bool { return false },
		10: func() bool { server.killWorkers(); return true },
		18: func() bool { server.killRouter(); return true },
	}
	seen := []result{}
	for len(seen) < frames {
		err := predict(test, stream, len(seen), func(one result) bool {
			seen = append(seen, one)
			disturb := disturbances[len(seen)]
			delete(disturbances, len(seen))
			return disturb == nil || disturb()
		})
		if err != nil && status.Code(err) != codes.Unavailable {
			test.Fatal(err)
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
	if len(disturbances) > 0 || !reflect.DeepEqual(seen, expected) {
		test.Fatalf("left %v; got %v, expected %v", disturbances, seen, expected)
	}
}

func TestPredict(test *testing.T) {
	if err := server.waitUntilReady(); err != nil {
		test.Fatal(err)
	}
	client := realtime.NewInferenceServiceClient(connect(test))
	request := &realtime.InferenceRequest{ContextId: "sentiment", Payload: []byte("Great!"), Metadata: map[string]string{"content-type": "text/plain", "request-id": "r"}}
	head := metadata.MD{}
	response, err := client.Predict(context.Background(), request, grpc.Header(&head))
	if err != nil {
		test.Fatal(err)
	}
	if !strings.Contains(response.ResultJson, `"label":"positive"`) || response.RequestId != "r" || response.Version != realtime.ProtocolVersion_V1 {
		test.Fatal(response)
	}
	if notice := head.Get("millrace-deprecation"); len(notice) != 1 || !strings.HasPrefix(notice[0], "V1 is deprecated") {
		test.Fatal(head)
	}
	listed := metadata.AppendToOutgoingContext(context.Background(), "millrace-protocol-versions", "V1,V2,V3")
	request.Version = 9
	if response, err = client.Predict(listed, request); err != nil || response.Version != realtime.ProtocolVersion_V2 {
		test.Fatal(response, err)
	}
	_, err = client.Predict(context.Background(), request)
	if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "speaks version '9'") {
		test.Fatal(err)
	}
	// The text of an error is also in the response, which travels as a detail of the status.
	request.Version, request.ContextId = realtime.ProtocolVersion_V2, "nobody"
	_, err = client.Predict(context.Background(), request)
	found := false
	for _, detail := range status.Convert(err).Details() {
		if told, ok := detail.(*realtime.InferenceResponse); ok {
			found = told.ErrorMessage == status.Convert(err).Message() && told.RequestId == "r"
		}
	}
	if status.Code(err) != codes.NotFound || !found {
		test.Fatal(err)
	}
}
