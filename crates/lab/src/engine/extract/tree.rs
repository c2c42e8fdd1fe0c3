//! A page as a tree, made by html5ever as browsers do (the HTML standard §13.2), in one vector.

use html5ever::interface::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ExpandedName, QualName, parse_document};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// A page.
pub(crate) struct Tree {
    /// The first one is the document.
    nodes: Vec<Node>,
}

/// A part of a page.
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    pub(crate) content: Content,
}

/// What a node is.
#[derive(Default)]
pub(crate) enum Content {
    /// The document, a comment, ...
    #[default]
    Other,
    Text(StrTendril),
    /// Its name and its attributes.
    Element(Rc<QualName>, Vec<Attribute>),
}

impl Tree {
    /// Of any bytes: what is not UTF-8 becomes U+FFFD.
    pub(crate) fn new(page: &[u8]) -> Self {
        let growing = Growing(RefCell::new(vec![Node::default()]));
        let page = String::from_utf8_lossy(page);
        parse_document(growing, Default::default()).one(&*page)
    }

    pub(crate) fn node(&self, place: usize) -> &Node {
        &self.nodes[place]
    }

    /// All nodes of the page in its order.
    pub(crate) fn walk(&self, from: usize) -> impl Iterator<Item = usize> {
        let mut stack = vec![from];
        std::iter::from_fn(move || {
            let next = stack.pop()?;
            stack.extend(self.nodes[next].children.iter().rev());
            Some(next)
        })
    }

    /// The text in an element.
    pub(crate) fn text(&self, place: usize) -> String {
        let texts = self.walk(place).filter_map(|place| match &self.nodes[place].content {
            Content::Text(text) => Some(&**text),
            _ => None,
        });
        texts.collect()
    }
}

/// A tree that html5ever is building.
struct Growing(RefCell<Vec<Node>>);

/// A node of it, and its name if it is an element.
#[derive(Clone)]
struct Handle {
    place: usize,
    name: Option<Rc<QualName>>,
}

impl Growing {
    fn make(&self, content: Content) -> Handle {
        let name = match &content {
            Content::Element(name, _) => Some(Rc::clone(name)),
            _ => None,
        };
        let mut nodes = self.0.borrow_mut();
        nodes.push(Node { content, ..Node::default() });
        Handle { place: nodes.len() - 1, name }
    }

    /// Puts something into `parent`, before the child of this number.
    fn insert(&self, parent: usize, before: usize, child: NodeOrText<Handle>) {
        let place = match child {
            NodeOrText::AppendNode(node) => {
                self.detach(node.place);
                node.place
            }
            NodeOrText::AppendText(text) => {
                let mut nodes = self.0.borrow_mut();
                let previous = before.checked_sub(1).map(|i| nodes[parent].children[i]);
                if let Some(previous) = previous
                    && let Content::Text(begun) = &mut nodes[previous].content
                {
                    begun.push_tendril(&text);
                    return;
                }
                drop(nodes);
                self.make(Content::Text(text)).place
            }
        };
        let mut nodes = self.0.borrow_mut();
        nodes[place].parent = Some(parent);
        let before = before.min(nodes[parent].children.len());
        nodes[parent].children.insert(before, place);
    }

    fn detach(&self, place: usize) {
        let mut nodes = self.0.borrow_mut();
        if let Some(parent) = nodes[place].parent.take() {
            nodes[parent].children.retain(|child| *child != place);
        }
    }
}

impl TreeSink for Growing {
    type Handle = Handle;
    type Output = Tree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Tree {
        Tree { nodes: self.0.into_inner() }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { place: 0, name: None }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        let name = target.name.as_ref();
        name.expect("html5ever asks for names of elements only").expanded()
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> Handle {
        self.make(Content::Element(Rc::new(name), attrs))
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        self.make(Content::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        self.make(Content::Other)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let end = self.0.borrow()[parent.place].children.len();
        self.insert(parent.place, end, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let has_parent = self.0.borrow()[element.place].parent.is_some();
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.place == other.place
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(node) = &child {
            self.detach(node.place);
        }
        let found = {
            let nodes = self.0.borrow();
            nodes[sibling.place].parent.map(|parent| {
                let place = |child: &usize| *child == sibling.place;
                (parent, nodes[parent].children.iter().position(place).unwrap_or(0))
            })
        };
        if let Some((parent, before)) = found {
            self.insert(parent, before, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        if let Content::Element(_, own) = &mut self.0.borrow_mut()[target.place].content {
            for attr in attrs {
                if own.iter().all(|other| other.name != attr.name) {
                    own.push(attr);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.detach(target.place);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let mut nodes = self.0.borrow_mut();
        let children = std::mem::take(&mut nodes[node.place].children);
        for child in &children {
            nodes[*child].parent = Some(new_parent.place);
        }
        nodes[new_parent.place].children.extend(children);
    }
}
