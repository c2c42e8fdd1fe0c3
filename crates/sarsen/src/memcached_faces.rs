//! The faces for memcached clients: of the cache, and of collections of the repository.

use crate::assemble::Application;
use crate::cli::ServeArguments;
use crate::machine;
use crate::memory_cache::MemoryCache;
use faces::Watcher;
use gem::Pool;
use memcached::limits::{BUFFER_BYTES_MAX, CONNECTIONS_MAX, LARGE_VALUES_MIN, THREADS_MAX};
use memcached::{Closed, Collection, Face, FaceOptions, Place, StartError};
use repository::limits::DOCUMENT_BYTES_MAX;
use repository::{CollectionName, Repository};
use std::sync::Arc;

/// Starts the cache's, if clients are to find it.
pub fn of_cache(
    arguments: &ServeArguments,
    cache: &MemoryCache,
) -> Result<Option<Face>, StartError> {
    if arguments.memcached.is_empty() {
        return Ok(None);
    }
    let options = options(arguments, arguments.memcached.clone());
    let buffer_bytes =
        memcached::buffer_bytes(cache.cache.memory_bytes(), cache.cache.value_bytes_max());
    let options = FaceOptions { buffer_bytes, ..options };
    Face::start(&options, Arc::clone(&cache.cache)).map(Some)
}

/// Starts those of collections.
pub fn of_collections(
    arguments: &ServeArguments,
    repository: &Arc<Repository>,
    (watcher, application): (&Watcher, Option<&Application>),
) -> Result<Vec<Face>, StartError> {
    let pool = application.map(|application| Arc::clone(&application.pool));
    let is_locked = arguments.memcached_auth.is_some();
    let faces = arguments.memcached_collections.iter().map(|(name, place)| {
        let closed = closed(name.clone(), pool.clone(), watcher.clone(), is_locked);
        let most = arguments.cache_item_max.map_or(cache::limits::VALUE_BYTES_DEFAULT, |most| {
            usize::try_from(most).unwrap_or(usize::MAX)
        });
        let collection = Collection {
            repository: Arc::clone(repository),
            name: name.clone(),
            value_bytes_max: most.min(DOCUMENT_BYTES_MAX),
            closed,
        };
        let options = options(arguments, vec![place.clone()]);
        let buffer_bytes = options.buffer_bytes.max(LARGE_VALUES_MIN * collection.value_bytes_max);
        Face::start_on(&FaceOptions { buffer_bytes, ..options }, collection)
    });
    faces.collect()
}

/// Connections that HTTP may have, and each face for memcached clients. Where there are not
/// descriptors for all, those have three fifths, so that together they leave the repository what
/// it needs.
pub fn connections(arguments: &ServeArguments) -> (usize, usize) {
    let http = faces::limits::CONNECTIONS_MAX;
    let caches = usize::from(!arguments.memcached.is_empty());
    let faces = caches + arguments.memcached_collections.len();
    let all = http + faces * CONNECTIONS_MAX;
    match machine::connections(all) {
        room if faces == 0 || room >= all => (room.min(http), CONNECTIONS_MAX),
        room => (http.min(room * 2 / 5), CONNECTIONS_MAX.min(room * 3 / 5 / faces)),
    }
}

fn options(arguments: &ServeArguments, places: Vec<Place>) -> FaceOptions {
    FaceOptions {
        places,
        threads: arguments.cache_threads.unwrap_or_else(|| machine::cores().min(THREADS_MAX)),
        connections_max: connections(arguments).1,
        idle_timeout: arguments.memcached_idle,
        auth: arguments.memcached_auth.clone(),
        buffer_bytes: BUFFER_BYTES_MAX,
    }
}

/// Why a collection may not be used by memcached clients, if so: its service would have to be
/// asked, or whoever comes would have to show a token by HTTP.
fn closed(
    name: CollectionName,
    pool: Option<Arc<Pool>>,
    watcher: Watcher,
    is_locked: bool,
) -> Closed {
    Arc::new(move || {
        let is_served =
            pool.as_ref().is_some_and(|pool| pool.app().services().get(&name).is_some());
        if is_served {
            return Some(format!("the collection {name} has a service, which HTTP asks: use that"));
        }
        let is_open = is_locked || !watcher.has_tokens();
        (!is_open).then(|| {
            "tokens are configured, so clients must show who they are: start the server with \
             --memcached-auth FILE"
                .to_owned()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_share_the_descriptors() {
        let http = faces::limits::CONNECTIONS_MAX;
        let none = ServeArguments::default();
        assert_eq!(connections(&none).0, machine::connections(http));
        let place: Place = "127.0.0.1:0".parse().expect("a place");
        let both = ServeArguments { memcached: vec![place], ..none };
        let (of_http, of_memcached) = connections(&both);
        let together = of_http + of_memcached;
        assert!(together <= machine::connections(http + CONNECTIONS_MAX), "{together}");
    }
}
