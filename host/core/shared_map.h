// A map whose copies share their content until one of them changes.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <utility>

namespace cardcage {

// For maps in objects that are copied as a whole. Copies may be used by different threads, one object by one thread at
// a time.
template <class Key, class Value>
class SharedMap {
 public:
  using Map = std::map<Key, Value>;
  using value_type = typename Map::value_type;
  using const_iterator = typename Map::const_iterator;
  using iterator = const_iterator;

  SharedMap() = default;
  SharedMap(std::initializer_list<value_type> entries) : map_(std::make_shared<Map>(entries)) {}

  const_iterator begin() const { return map().begin(); }
  const_iterator end() const { return map().end(); }
  std::size_t size() const { return map().size(); }
  bool empty() const { return map().empty(); }
  const_iterator find(const Key& key) const { return map().find(key); }
  bool contains(const Key& key) const { return map().contains(key); }
  const Value& at(const Key& key) const { return map().at(key); }

  // Changes through these leave copies as they are.
  Value& operator[](const Key& key) { return change()[key]; }
  std::pair<const_iterator, bool> emplace(Key key, Value value) {
    return change().emplace(std::move(key), std::move(value));
  }
  void erase(const Key& key) { change().erase(key); }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    std::erase_if(change(), predicate);
  }

  friend bool operator==(const SharedMap& a, const SharedMap& b) { return a.map_ == b.map_ || a.map() == b.map(); }

 private:
  const Map& map() const {
    static const Map kEmpty;
    return map_ ? *map_ : kEmpty;
  }
  // A sole owner needs no copy: only it could make another owner.
  Map& change() {
    if (!map_)
      map_ = std::make_shared<Map>();
    else if (map_.use_count() > 1)
      map_ = std::make_shared<Map>(*map_);
    return *map_;
  }

  std::shared_ptr<Map> map_;
};

}  // namespace cardcage
