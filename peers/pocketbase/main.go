// A PocketBase server with the collections that `make bench-documents` loads. It says `url ...` when
// it serves. What it changes of PocketBase's defaults is in README.md.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// The collections, each with whether its member `group` is indexed.
var collections = []struct {
	name    string
	indexed bool
}{{"documents", false}, {"listed", true}, {"created", false}}

func main() {
	if len(os.Args) != 3 && len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: peer FOLDER ADDRESS [TLS_ADDRESS CERTIFICATE KEY]")
		os.Exit(2)
	}
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: os.Args[1]})
	if err := app.Bootstrap(); err != nil {
		log.Fatal(err)
	}
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		if err := prepare(app); err != nil {
			return err
		}
		// No page that asks to make an administrator.
		event.InstallerFunc = nil
		event.Server.Protocols = protocols()
		if err := event.Next(); err != nil {
			return err
		}
		if len(os.Args) == 6 {
			if err := serveTLS(event.Server.Handler, os.Args[3], os.Args[4], os.Args[5]); err != nil {
				return err
			}
		}
		fmt.Printf("url http://%s\n", os.Args[2])
		return nil
	})
	err := apis.Serve(app, apis.ServeConfig{HttpAddr: os.Args[2]})
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// HTTP/1.1 and, with prior knowledge, HTTP/2 without TLS, which Go's server does only if asked to.
func protocols() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// Serves the same beside it, with TLS. PocketBase itself takes its certificates from an ACME
// authority only.
func serveTLS(handler http.Handler, address, certificate, key string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:   handler,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}},
	}
	go func() { log.Fatal(server.ServeTLS(listener, "", "")) }()
	return nil
}

// Makes the collections, and turns off the log of requests, which no other side writes.
func prepare(app core.App) error {
	app.Settings().Logs.MaxDays = 0
	if err := app.Save(app.Settings()); err != nil {
		return err
	}
	for _, each := range collections {
		collection := core.NewBaseCollection(each.name)
		// The empty rule lets everybody in.
		everybody := types.Pointer("")
		collection.ListRule, collection.ViewRule = everybody, everybody
		collection.CreateRule, collection.UpdateRule = everybody, everybody
		if id, ok := collection.Fields.GetByName("id").(*core.TextField); ok {
			// Keys are numbers here, and not 15 characters long.
			id.Min = 1
		}
		collection.Fields.Add(
			&core.TextField{Name: "nonce"},
			&core.TextField{Name: "group"},
			&core.NumberField{Name: "hits"},
			&core.TextField{Name: "text"},
			&core.AutodateField{Name: "created", OnCreate: true},
			&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
		)
		if each.indexed {
			collection.AddIndex("idx_group", false, "`group`", "")
		}
		if err := app.Save(collection); err != nil {
			return err
		}
	}
	return nil
}
