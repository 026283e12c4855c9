package compat

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The snippets of docs/clients.md as they stand there, but for the port: the stubs are made, and the program is built.
func TestSnippetOfTheDocumentation(test *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/clients.md"))
	if err != nil {
		test.Fatal(err)
	}
	snippet := func(pattern string) string {
		found := regexp.MustCompile("(?ms)^```" + pattern + "^```$").FindAllSubmatch(page, -1)
		if len(found) != 1 {
			test.Fatalf("docs/clients.md has %d snippets %s", len(found), pattern)
		}
		return strings.ReplaceAll(string(found[0][1]), "localhost:8000", strings.TrimPrefix(server.http, "http://"))
	}
	folder := test.TempDir()
	run := func(name string, arguments ...string) {
		command := exec.Command(name, arguments...)
		command.Dir = folder
		if output, err := command.CombinedOutput(); err != nil {
			test.Fatalf("%s: %v\n%s", name, err, output)
		}
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			test.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "proto"), filepath.Join(folder, "proto")); err != nil {
		test.Fatal(err)
	}
	// The versions that are installed, so that nothing is fetched.
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			test.Fatal(err)
		}
		write(name, bytes.Replace(content, []byte("module compat"), []byte("module example"), 1))
	}
	write("main.go", []byte(snippet(`go\n(// main\.go\n.*?)`)))
	run("bash", "-euc", snippet(`sh\n(# stubs for Go\n.*?)`))
	run("go", "build", "-o", "story", ".")

	whole, err := exec.Command(filepath.Join(folder, "story")).Output()
	if err != nil {
		test.Fatal(err)
	}
	if !strings.HasPrefix(string(whole), "positive\n") || len(whole) < 300 {
		test.Fatalf("a label and a story were expected, not %q", whole)
	}
	for name, kill := range map[string]func(){"router": server.killRouter, "workers": server.killWorkers} {
		command := exec.Command(filepath.Join(folder, "story"))
		output, err := command.StdoutPipe()
		if err != nil {
			test.Fatal(err)
		}
		command.Stderr = os.Stderr
		if err := command.Start(); err != nil {
			test.Fatal(err)
		}
		begun := make([]byte, 60)
		if _, err := io.ReadFull(output, begun); err != nil {
			test.Fatal(err)
		}
		kill()
		rest, err := io.ReadAll(output)
		if err != nil {
			test.Fatal(err)
		}
		if err := command.Wait(); err != nil {
			test.Fatal(err)
		}
		if !bytes.Equal(append(begun, rest...), whole) {
			test.Errorf("the story changed when the %s died:\n%s%s\ninstead of\n%s", name, begun, rest, whole)
		}
		if err := server.waitUntilReady(); err != nil {
			test.Fatal(err)
		}
	}
}
