# What a program does with Atompub::Client: publishes, reads, changes and removes an entry and a
# medium. atompub-clients.sh makes the publication.
use strict;
use warnings;
use utf8;
use Atompub::Client;
use Encode qw(decode_utf8 is_utf8);
use XML::Atom::Entry;

my ($service_uri, $no_media) = @ARGV;
my $client = Atompub::Client->new;

sub check {
    my ($is_good, $what) = @_;
    return if $is_good;
    my $reply = $client->response;
    die "$what: " . ($client->errstr // '') . "\n" . ($reply ? $reply->as_string : '') . "\n";
}

my $service = $client->getService($service_uri);
check($service, 'getService');
my @collections = map { $_->collections } $service->workspaces;
check(scalar @collections, 'the service document has collections');

sub takes {
    my ($collection, $type) = @_;
    my @accepts = $collection->accepts;
    return $type eq 'entry' if !@accepts;
    return $type eq 'entry' ? grep { /atom\+xml/ } @accepts : grep { m{^\s*(image/|\*/\*)} } @accepts;
}

sub absolute { return URI->new_abs($_[0], $service_uri)->as_string }

my ($entries) = grep { takes($_, 'entry') } @collections;
check($entries, 'a collection takes entries');
my $entries_uri = absolute($entries->href);

my $entry = XML::Atom::Entry->new;
$entry->title('A library in Zürich & elsewhere');
$entry->content('<p>It was open until nine.</p>');
my $edit_uri = $client->createEntry($entries_uri, $entry, 'A library');
check($edit_uri, 'createEntry');
$edit_uri = absolute($edit_uri);

my $got = $client->getEntry($edit_uri);
check($got, 'getEntry');
my $title = $got->title;
$title = decode_utf8($title) if !is_utf8($title);
check($title eq 'A library in Zürich & elsewhere', "the title is kept; got $title");
check($got->id, 'the entry has an id');
check($got->edit_link, 'the entry has an edit link');

$got->title('Changed');
check($client->updateEntry($edit_uri, $got), 'updateEntry');
my $changed = $client->getEntry($edit_uri);
check($changed && $changed->title eq 'Changed', 'the change is there');

my $feed = $client->getFeed($entries_uri);
check($feed, 'getFeed');
my @listed = $feed->entries;
check(@listed == 1 && $listed[0]->title eq 'Changed', 'the feed has the entry');

check($client->deleteEntry($edit_uri), 'deleteEntry');
$feed = Atompub::Client->new->getFeed($entries_uri);
my @left = $feed ? $feed->entries : (1);
check(!@left, 'the entry is gone from the feed');

if (($no_media // '') ne '--no-media') {
    my ($media) = grep { takes($_, 'media') } @collections;
    check($media, 'a collection takes pictures');
    my $picture = "\x89PNG\r\n\x1A\n" . join('', map { chr($_ % 256) } 0 .. 4999);
    my $uri = $client->createMedia(absolute($media->href), \$picture, 'image/png', 'A picture');
    check($uri, 'createMedia');
    my $link = $client->getEntry(absolute($uri));
    check($link && $link->edit_media_link, 'the media link entry has an edit-media link');
    my $bytes = $client->getMedia(absolute($link->edit_media_link));
    check(defined $bytes && $bytes eq $picture, 'the bytes are the same');
    check($client->deleteEntry(absolute($uri)), 'deleteEntry of the media link entry');
}
print "atompub-clients: libatompub-perl: published, changed and removed\n";
