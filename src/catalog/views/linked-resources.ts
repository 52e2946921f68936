/** A resource that a result has named to a principal. */
export interface LinkedResource {
  readonly server: string;
  /** The URI as the server sent it. */
  readonly uri: string;
  /** The URI as the client got it. */
  readonly name: string;
  /** The tool or prompt with that result. Its target would keep an earlier definition in memory. */
  readonly from: { readonly kind: 'tool' | 'prompt'; readonly publicName: string };
}

/** The resources that results have named: clients may read them, although no server lists them. */
export interface LinkedResources {
  add(principal: string, resource: LinkedResource): void;
  /** Returns the resources that this principal got under a name. */
  of(principal: string, name: string): readonly LinkedResource[];
  forget(server: string): void;
}

interface Book {
  readonly server: string;
  readonly resources: Map<string, LinkedResource>;
  chars: number;
}

export interface LinkedResourcesOptions {
  /** The characters of all principals and servers. */
  readonly maxChars?: number;
  /** The characters of one principal at one server. */
  readonly maxOwnChars?: number;
}

const MAX_CHARS = 8_000_000;
const MAX_OWN_CHARS = 200_000;
const MAX_URI_CHARS = 2048;
// The objects around the text.
const CHARS_EACH = 100;

/**
 * Remembers links for each principal and server, the newest first. A server cannot make those of another be forgotten,
 * unless the memory of all principals is full: then the links are forgotten that were added longest ago.
 */
export function linkedResources(options: LinkedResourcesOptions = {}): LinkedResources {
  const { maxChars = MAX_CHARS, maxOwnChars = MAX_OWN_CHARS } = options;
  const byPrincipal = new Map<string, Map<string, Book>>();
  let chars = 0;

  function drop(book: Book, name: string): void {
    const known = book.resources.get(name);
    if (!known || !book.resources.delete(name)) return;
    book.chars -= charsOf(known);
    chars -= charsOf(known);
  }

  function dropOldest(principal: string): void {
    for (const book of byPrincipal.get(principal)?.values() ?? []) chars -= book.chars;
    byPrincipal.delete(principal);
  }

  /** Returns the book of a principal at a server, and makes the principal the newest. */
  function bookOf(principal: string, server: string): Book {
    const books = byPrincipal.get(principal) ?? new Map<string, Book>();
    byPrincipal.delete(principal);
    byPrincipal.set(principal, books);
    const book = books.get(server) ?? { server, resources: new Map(), chars: 0 };
    books.set(server, book);
    return book;
  }

  return {
    add(principal, resource) {
      const { server, uri, name } = resource;
      if (uri.length > MAX_URI_CHARS) return;
      const book = bookOf(principal, server);
      drop(book, name);
      book.resources.set(name, resource);
      book.chars += charsOf(resource);
      chars += charsOf(resource);
      for (const oldest of book.resources.keys()) {
        if (book.chars <= maxOwnChars) break;
        drop(book, oldest);
      }
      for (const oldest of byPrincipal.keys()) {
        if (chars <= maxChars) break;
        dropOldest(oldest);
      }
    },
    of(principal, name) {
      const books = byPrincipal.get(principal);
      return books ? [...books.values()].flatMap(({ resources }) => resources.get(name) ?? []) : [];
    },
    forget(server) {
      for (const books of byPrincipal.values()) {
        chars -= books.get(server)?.chars ?? 0;
        books.delete(server);
      }
    },
  };
}

const charsOf = ({ uri, name }: LinkedResource) => CHARS_EACH + uri.length + (name === uri ? 0 : name.length);
